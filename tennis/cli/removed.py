"""Commands and options that released versions had, and what to do instead."""

REMOVED = {
    "brickwall listen": "run 'tennis doctor', which looks at the wires",
    "kernels debug": "run 'tennis kernels fetch debug'",
    "kernels fragment": "run 'tennis kernels check FLAVOUR'",
    "kernels list": "run 'tennis kernels'",
    "lab list": "run 'tennis lab'",
    "boot": "run 'tennis benches boot'",
    "course record": "play what the README.md of `tennis lab start` says, and hand out the rallies",
    "flash": "run 'tennis brickwall flash'",
    "scoreboard": "run 'tennis match': it prints what plays and what failed",
    "store": "query the rally folders with pandas: docs/query.md",
    "witness": "run 'tennis stats RALLY'",
    "verify": "run 'tennis brickwall verify'",
}

# an option of one command, or of all that had it
OPTIONS = {
    "doctor --bench": "compare the bench's rallies yourself: docs/query.md",
    **dict.fromkeys(
        [
            *(f"benches {command} --as" for command in ("boot", "lease", "release", "restore")),
            *(f"{command} --as" for command in ("rally", "resume")),
        ],
        "set TENNIS_HOLDER=NAME",
    ),
    "--force": "remove what is in the way, or choose another --out",
    "--inventory": "set TENNIS_INVENTORY=PATH",
    "--operator": "leave it out",
    "benches boot --again": "leave it out",
    "grade --deadline": "your learning platform knows when a file came: let it take points off",
    "export --format": "leave it out: it writes CSV",
    **dict.fromkeys(
        [
            f"umpire simulate --{what}"
            for what in ("early-ms", "late-ms", "lead-ms", "lose-every", "seed")
        ],
        "use --glitches, --lose-ms, --jitter-ns, --swap, --invert or a bias",
    ),
    "umpire capture --pulse-us": "leave it out",
    **dict.fromkeys(
        [f"kernels package --{source}" for source in ("git", "ref", "tarball", "tree")],
        "name the source behind the flavour: FOLDER, ARCHIVE or REPOSITORY#COMMIT",
    ),
    "demo --seed": "play a match of your own: plans/quick.toml",
    "match --kernel": "use --with NAME=KERNEL",
    "match --repetitions": "use --boots COUNT",
    "replicate --kernel": "use --with NAME=KERNEL",
    "match --check-every": "leave it out",
    "explain balls --stages": "run 'tennis explain stages RALLY'",
    "explain balls --try": "run 'tennis explain try RALLY NAME=VALUE'",
    "sweep --json": "run 'tennis stats --json DIR'",
    "rally --check": "run 'tennis check DIR'",
    "umpire check --out": "save what it prints, or use --json",
    "umpire check --hysteresis-v": "make a session of sigrok of the table first: docs/umpire.md",
    "umpire check --threshold-v": "make a session of sigrok of the table first: docs/umpire.md",
    "rally --resume": "run 'tennis resume DIR'",
}
