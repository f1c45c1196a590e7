"""For nbval: run cells as a front end does, with history, so that a trailing `;` hides a value and `In` is filled. And leave
captions, the only outputs in Markdown, out of the comparison, as it leaves images out."""

try:
    from nbval.kernel import RunningKernel
    from nbval.plugin import IPyNbCell
except ImportError:  # the library's tests need no nbval
    pass
else:

    def _execute_with_history(self, code, allow_stdin=None):
        return self.kc.execute(code, store_history=True, allow_stdin=allow_stdin, stop_on_error=False)

    RunningKernel.execute_cell_input = _execute_with_history

    _compare = IPyNbCell.compare_outputs

    def _compare_all_but_captions(self, test, ref, skip_compare=None):
        return _compare(self, test, ref, skip_compare or (*self.parent.skip_compare, "text/markdown"))

    IPyNbCell.compare_outputs = _compare_all_but_captions
