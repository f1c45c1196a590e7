"""Who is who, in Chinese: the few sentences that tie a trade, a kinship or a guise to a name."""

TRADE = [
    "{family}{a}是镇上的{trade}，家里上一辈也是干这一行的。",
    "{a}的门上挂着{trade}的招牌，这门手艺就是{his}一辈子。",
    "谁要找{trade}，就去找{a}，方圆二十里再没有第二个。",
    "{a}十二岁就跟着一位{trade}当学徒，如今独自守着那间铺子。",
    "教区的册子上用褐色墨水写着：{family}{a}，{trade}。",
    "“你就是这里的{trade}？”巡官问。{a}说正是，还掀起围裙给他看。",
]
KIN = [
    "{a}是{b}的{relation}，平日里倒看不出来。",
    "两个人会唱同样的童谣：{a}是{b}的{relation}。",
    "家谱上写得明白，{a}是{b}的{relation}。",
    "“我是{b}的{relation}，”{a}说，“谁知道我都不怕。”",
    "如今没几个人记得了，{a}其实是{b}的{relation}。",
]
GUISE = [
    "过了很久大家才明白，{guise}不是别人，正是{a}。",
    "{a}对着水盆洗掉脸上的烟灰，{guise}就不见了：原来两个是同一个人。",
    "{a}阁楼上的箱子里什么都有，衣裳，还有别的行头。{a}就是{guise}。",
    "“你们从来没猜到吗？”{a}说，“{guise}就是我。”",
    "跟{guise}说过话的人，其实都是在跟{a}说话，只是自己不知道。",
]
