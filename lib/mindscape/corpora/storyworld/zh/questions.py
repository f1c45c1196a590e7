"""How questions and summaries are put, in Chinese, and the little grammar that they need."""

MARK = "“{name}”二字"  # what is scratched into a thing that two people claim
FULL_NAME = "{family}{name}"
PLACE = "{qualifier}{noun}"
PLACE_HINT = "那个{hint}"
THING = "{adjective}{noun}"
THE_TRADE = "那位{trade}"
KIN_OF = "{b}的{relation}"
ONE_WHO = "那个{predicate}的人"
NUMBER_OF = "{x}{n}个"
LOCATED = "{question}事情发生在{p}。"
COMMA, AND, STOP = "、", "和", "。"
PRONOUNS = {
    "f": {"he": "她", "his": "她的", "him": "她", "himself": "自己"},
    "m": {"he": "他", "his": "他的", "him": "他", "himself": "自己"},
}

ASIDES = [  # before a binding
    "有件事不是人人都知道，不妨在这里记上一笔。{binding}",
    "大家还谈到别的，其中就有这一桩。{binding}",
    "我见过的一张旧纸上提到过这个。{binding}",
    "外来的人是不会知道的。{binding}",
    "写到这里，我得插一句。{binding}",
    "话头偶然转到了这上面。{binding}",
]
BINDING = {  # in questions' glosses and in summaries
    "trade": "{a}是那位{trade}",
    "kin": "{a}是{b}的{relation}",
    "guise": "{guise}就是{a}",
}
GLOSS_JOIN = "；"

REPLY = "对“{ask}”的正确答复是：{answer}。"  # a claim where the kind's `fact` does not hold the answer

QUESTIONS = {  # builders that are not a kind of event: (question, claim with {answer})
    "twice": ("{ask}此事有过两回，请把两个答案都说出来。", "对“{ask}”的完整答复是：{answer}。"),
    "belongings": ("{when}在{p}换了保管者的是哪两样东西？", "{when}在{p}换了保管者的两样东西是{answer}。"),
    "times": ("{a}{inf}，前后共有几次？", "{a}{inf}的次数为{answer}。"),
    "people": ("整个故事里，{inf}的一共有几位不同的人？", "整个故事里，{inf}的不同的人一共有{answer}位。"),
    "liar": (
        "关于那个{predicate}的人，谁郑重其事地作了不实的证言？",
        "关于那个{predicate}的人，郑重其事地作了不实证言的是{answer}。",
    ),
    "meals": (
        "私人日记的作者从第一则到最后一则，依次吃了什么？",
        "从第一则到最后一则，私人日记的作者依次吃了{answer}。",
    ),
    "diary_chain": (
        "按私人日记的说法，{o}从{a}处流转出去。最后一则过后，由谁保管它？",
        "按私人日记的说法，{o}从{a}处流转出去，最后一则过后由{answer}保管。",
    ),
    "unvouched": (
        "在问案时受到盘问的人当中，说不出谁可担保的有几位？",
        "在问案时受到盘问的人当中，说不出谁可担保的有{answer}位。",
    ),
    "false_alibi": (
        "问案时，谁的陈述恰恰被其中所提的同伴推翻？",
        "问案时，陈述恰恰被其中所提的同伴推翻的是{answer}。",
    ),
    "refrain": (
        "书中一个又一个部分，都是以什么声音收尾的？",
        "书中一个又一个部分，都是以{answer}收尾的。",
    ),
    "heirloom": (
        "{o}起初属于{a}。一切落定之时，它属于谁？",
        "{o}起初属于{a}；一切落定之时，它属于{answer}。",
    ),
    "next_keeper": (
        "{a}让出了{o}。接手的人又把它转给了谁？",
        "{a}让出了{o}；接手的人又把它转给了{answer}。",
    ),
    "culprit": (
        "把每条线索都掂量过之后，{crime}必定是谁所为？",
        "把每条线索都掂量过之后，{crime}必定是{answer}所为。",
    ),
    "herring": (
        "就{crime}而言，每条线索都指向谁，唯独“{about}”这一条除外？",
        "就{crime}而言，每条线索都指向{answer}，唯独“{about}”这一条除外。",
    ),
}

SUMMARY = {
    "opening": "{title}。",
    "cast": "{town}的人物：{list}。",
    "person": "{name}（{trade}）",
    "kin": "亲属关系：{list}。",
    "guise": "另有称呼：{list}。",
    "crime": "全书的核心是{crime}。",
    "traces": "线索有{list}；无人定罪。",
    "heirloom": "{o}从{a}那里几经转手，到了{b}那里。",
    "hearing": "问案时，{c}关于{d}的说法没有得到印证。",
    "journal": "书中引用了{c}的日记。",
    "session": "{list}。",
    "outline": "{p}，{when}：{people}",
    "outline_placeless": "{when}：{people}",
    "trace": "发现一条线索：{about}",
    "false": "{c}起誓说{fact}，而事实并非如此",
    "alibi": "{c}声称同{d}待在{p}",
    "alone": "{c}说不出那一夜谁可担保",
    "meal": "{c}吃了{x}",
}
FACT_JOIN = "；"
RELATIONS = {  # labels of the edges in the concept graph
    "a": "出自",
    "b": "牵涉",
    "c": "为其所说",
    "d": "提到",
    "o": "关于",
    "p": "发生于",
    "q": "止于",
    "v": "关于",
    "w": "判定有理",
    "contradicts": "矛盾于",
    "fits": "指向所系之人",
    "guise": "实为",
    "trade": "职业为",
    "counts": "计数",
}
SERIES_HEADING = "第{n}部"
SERIES_QUESTION = "在第{n}部里：{question}"
