with Scripted(behave) as server:
    os.environ.update(OPENAI_BASE_URL=server.url, OPENAI_API_KEY="none")
    B = "/tmp/own52/"
    go("no questions", llm="openai:habits", book=B + "mill.md")
    go("gb", llm="openai:habits", book=B + "gb.txt", questions="钥匙在哪里？")
    go("epub", llm="openai:habits", book=B + "tale.epub", questions="Where is the key?|Who kept the mill?")
    go("folder", llm="openai:habits", book=B + "folder", questions="Where is the key?|What did the river take?")
    go("gb named", llm="openai:habits", book=B + "gb.txt", encoding="gb18030", questions="钥匙在哪里？")
    go("zh", llm="openai:habits", book=B + "镇.txt", questions="铜钥匙藏在哪里？|老周每天清晨做什么？")
    go("cap", llm="openai:gpt-4o-mini", book=B + "mill.md", questions="Where is the key?", most_dollars=0.000001)
    go("cap unknown price", llm="openai:habits", book=B + "mill.md", questions="Where is the key?", most_dollars=0.01)
    print(seen)
