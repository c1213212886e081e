rule dctcp_internet:
    input:
        outputs("dctcp_internet"),
    message:
        "Using DCTCP in the Internet is reproduced: results/dctcp_internet/report.html"
