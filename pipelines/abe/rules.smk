rule abe:
    input:
        outputs("abe"),
    message:
        "ABE is reproduced: results/abe/report.html"
