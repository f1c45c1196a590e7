go("default", all_=1)
go("storyworld", book="storyworld")
go("zh", book="/tmp/own52/镇.txt", questions="铜钥匙藏在哪里？|老周每天清晨做什么？")
