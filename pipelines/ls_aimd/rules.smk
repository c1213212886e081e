rule ls_aimd:
    input:
        outputs("ls_aimd"),
    message:
        "LS-AIMD is reproduced: results/ls_aimd/report.html"
