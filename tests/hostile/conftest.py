"""The report of the collection: how many of its attacks were tried, and how many were held."""


def pytest_terminal_summary(terminalreporter):
    def count(kind: str) -> int:
        return sum(
            "tests/hostile/" in it.nodeid for it in terminalreporter.stats.get(kind, []) if hasattr(it, "nodeid")
        )

    held = count("passed")
    terminalreporter.write_line(f"attack.held {held} of attack.tried {held + count('failed') + count('error')}")
