import zipfile, random
from pathlib import Path
here = Path("/tmp/own52")
random.seed(3)
names = ["老周", "阿梅", "小石", "顾先生", "陈婆婆"]
places = ["渡口", "磨坊", "茶馆", "桥头", "祠堂"]
things = ["一盏铜灯", "一封信", "两袋米", "一把旧伞", "半本账册"]
parts = ["渡口镇的冬天来得早。老周每天清晨把船系在石桩上，数一数过河的人。"]
for i in range(120):
    a, b = random.sample(names, 2)
    parts.append(f"第{i+1}天，{a}在{random.choice(places)}遇见{b}，把{random.choice(things)}交给了他。{b}没有多问，只说天要下雪了，路上小心。")
    if i == 60: parts.append("没有人知道，那把铜钥匙一直藏在磨坊的水槽下面，是陈婆婆亲手放的。")
(here/"镇.txt").write_text("\n".join(parts), encoding="utf-8")
(here/"gb.txt").write_bytes("\n".join(parts).encode("gb18030"))
md = "# The mill\n\nAda kept the mill by the river. She hid the brass key under the trough.\n\n## Spring\n\nIn spring Bo came and asked for flour. *Nobody* told him of the key.\n"
(here/"mill.md").write_text(md)
(here/"folder/a.md").write_text(md); (here/"folder/b.txt").write_text("Bo went home without flour. It rained for a week, and the river took the bridge.\n")
with zipfile.ZipFile(here/"tale.epub", "w") as z:
    z.writestr("mimetype", "application/epub+zip")
    z.writestr("META-INF/container.xml", '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles><rootfile full-path="p.opf" media-type="application/oebps-package+xml"/></rootfiles></container>')
    z.writestr("p.opf", '<package xmlns="http://www.idpf.org/2007/opf" version="3.0"><metadata xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>The tale</dc:title><dc:language>en-GB</dc:language></metadata><manifest><item id="a" href="a.xhtml" media-type="application/xhtml+xml"/></manifest><spine><itemref idref="a"/></spine></package>')
    z.writestr("a.xhtml", "<html><body><h1>One</h1><p>Ada kept the mill by the river.</p><p>She hid the brass key under the trough.</p></body></html>")
