rule flow_startup:
    input:
        outputs("flow_startup"),
    message:
        "Flow startup is reproduced: results/flow_startup/report.html"
