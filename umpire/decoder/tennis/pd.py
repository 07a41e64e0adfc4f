# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""The protocol decoder: edges in, balls out. What a ball is: docs/rally-folder.md of Tennis."""

import sys
from collections import Counter

import sigrokdecode as srd

INTERRUPT, SCHEDULING, MISS, STRAY, DOUBLE, WARNING, INTERRUPT_SO_FAR, SCHEDULING_SO_FAR = range(8)
CSV, HISTOGRAM = range(2)
IDLE, SERVED, RAISED = range(3)
HEADER = b"ball,time_s,interrupt_ns,scheduling_ns,what\n"
HISTOGRAM_HEADER = b"latency,ns,balls\n"
# option -> its least and its largest value
BOUNDS = {
    "timeout_ms": (0.0001, 1e6),
    "interrupt_limit_us": (0, 1e9),
    "scheduling_limit_us": (0, 1e9),
    "statistics_every": (0, 1e9),
}


class SamplerateError(Exception):
    """The capture does not say how long a sample is."""


class SoFar:
    """Smallest, mean and largest of the latencies so far; in samples."""

    def __init__(self):
        self.n = self.sum = self.max = 0
        self.min = None

    def add(self, samples):
        """Take one more."""
        self.n += 1
        self.sum += samples
        if self.min is None or samples < self.min:
            self.min = samples
        self.max = max(self.max, samples)


class Decoder(srd.Decoder):
    """Times the balls of a Tennis rally."""

    api_version = 3
    id = "tennis"
    name = "Tennis"
    longname = "Tennis: interrupt and scheduling latencies"
    desc = "Real-time latencies of a target that answers pulses."
    license = "mit"
    inputs = ["logic"]
    outputs = []
    tags = ["Clock/timing", "Util"]
    channels = (
        {"id": "ping", "name": "Ping", "desc": "Rises when a ball is served"},
        {
            "id": "reply",
            "name": "Reply",
            "desc": "Rises in the interrupt handler, falls in the bottom half",
        },
    )
    options = (
        {
            "id": "ping_polarity",
            "desc": "Ping is",
            "default": "active-high",
            "values": ("active-high", "active-low"),
        },
        {
            "id": "reply_polarity",
            "desc": "Reply is",
            "default": "active-high",
            "values": ("active-high", "active-low"),
        },
        {"id": "timeout_ms", "desc": "Timeout (ms)", "default": 200.0},
        {
            "id": "interrupt_limit_us",
            "desc": "Warn of interrupt latencies past (us), 0: never",
            "default": 0.0,
        },
        {
            "id": "scheduling_limit_us",
            "desc": "Warn of scheduling latencies past (us), 0: never",
            "default": 0.0,
        },
        {
            "id": "statistics_every",
            "desc": "Show statistics every so many balls, 0: never",
            "default": 1,
        },
    )
    annotations = (
        ("interrupt", "Interrupt latency"),
        ("scheduling", "Scheduling latency"),
        ("miss", "Miss"),
        ("stray", "Stray"),
        ("double", "Double"),
        ("warning", "Warning"),
        ("interrupt-statistics", "Interrupt latency: minimum, mean, maximum so far"),
        ("scheduling-statistics", "Scheduling latency: minimum, mean, maximum so far"),
    )
    annotation_rows = (
        ("interrupts", "Interrupt latency", (INTERRUPT,)),
        ("schedulings", "Scheduling latency", (SCHEDULING,)),
        ("misses", "Misses", (MISS,)),
        ("strays", "Strays and doubles", (STRAY, DOUBLE)),
        ("warnings", "Past the limit", (WARNING,)),
        ("interrupts-so-far", "Interrupt latency so far", (INTERRUPT_SO_FAR,)),
        ("schedulings-so-far", "Scheduling latency so far", (SCHEDULING_SO_FAR,)),
    )
    binary = (("csv", "One line a ball (CSV)"), ("histogram", "Histogram (CSV, at the end)"))

    def __init__(self):
        self.reset()

    def reset(self):
        """Forget everything."""
        self.samplerate = None
        self.state = IDLE
        self.balls = 0
        self.served = self.risen = 0
        self.counted_up = False  # the edge that raised the line was counted as a stray or a double
        self.last_was_complete = False
        self.so_far = (SoFar(), SoFar())
        self.histogram = (Counter(), Counter())
        self.shown = []  # statistics that wait for the next ball

    def metadata(self, key, value):
        """Take the sample rate."""
        if key == srd.SRD_CONF_SAMPLERATE:
            self.samplerate = value

    def start(self):
        """Announce what comes out."""
        self.out_ann = self.register(srd.OUTPUT_ANN)
        self.out_binary = self.register(srd.OUTPUT_BINARY)

    def time(self, samples):
        """Write a time for a person, as long and as short."""
        ns = samples * 1e9 / self.samplerate
        for size, unit in ((1e9, "s"), (1e6, "ms"), (1e3, "us")):
            if ns >= size:
                return [f"{ns / size:.3f} {unit}", f"{ns / size:.3g}{unit}"]
        return [f"{ns:.0f} ns", f"{ns:.0f}ns"]

    def line(self, what, interrupt=None, scheduling=None):
        """Write the line of a ball."""
        ns = 1e9 / self.samplerate
        cells = ["" if x is None else f"{x * ns:.3f}" for x in (interrupt, scheduling)]
        seconds = self.served / self.samplerate
        text = f"{self.balls},{seconds:.12f},{cells[0]},{cells[1]},{what}\n"
        self.put(self.served, self.samplenum, self.out_binary, [CSV, text.encode()])
        self.balls += 1

    def latency(self, which, begin, end):
        """Show a latency, and warn of it past its limit."""
        samples = end - begin
        words = self.time(samples)
        self.put(begin, end, self.out_ann, [INTERRUPT + which, words])
        if self.limits[which] is not None and samples > self.limits[which]:
            name = ("interrupt", "scheduling")[which]
            late = [f"late: {name} latency {words[0]}", "late"]
            self.put(begin, end, self.out_ann, [WARNING, late])

    def count(self, which, samples):
        """Count a latency; now and then say what is known so far."""
        so_far = self.so_far[which]
        so_far.add(samples)
        self.histogram[which][samples] += 1
        if self.every and so_far.n % self.every == 0:
            figures = (so_far.min, so_far.sum / so_far.n, so_far.max)
            least, mean, most = (self.time(x)[0] for x in figures)
            words = [f"min {least}, mean {mean}, max {most}", f"max {most}"]
            self.shown.append([INTERRUPT_SO_FAR + which, words])

    def show_so_far(self):
        """Show the statistics until the next ball: there is room for them."""
        for annotation in self.shown:
            self.put(self.served, self.samplenum, self.out_ann, annotation)
        self.shown = []

    def close(self, complete):
        """Decide a ball."""
        rise = self.risen - self.served if self.state == RAISED else None
        if rise is not None:
            self.count(0, rise)
        if complete:
            self.latency(1, self.risen, self.samplenum)
            self.count(1, self.samplenum - self.risen)
            self.line("ok", rise, self.samplenum - self.risen)
        else:
            self.put(self.served, self.samplenum, self.out_ann, [MISS, ["miss", "m"]])
            self.line("miss", rise)
        self.last_was_complete = complete
        self.state = IDLE

    def serve(self):
        """Begin a ball; in an open loop the one before does not hold it up."""
        if self.state != IDLE:
            self.close(complete=False)
        self.show_so_far()
        self.served = self.samplenum
        self.state = SERVED

    def reply(self, up):
        """Take an edge of the reply."""
        if self.state == SERVED and up:
            self.latency(0, self.served, self.samplenum)
            self.risen = self.samplenum
            self.state = RAISED
            self.counted_up = False
        elif self.state == RAISED and not up:
            self.close(complete=True)
        else:
            if up or not self.counted_up:
                double = up and self.last_was_complete and self.state == IDLE
                kind, words = (DOUBLE, ["double", "d"]) if double else (STRAY, ["stray", "s"])
                self.put(self.samplenum, self.samplenum + 1, self.out_ann, [kind, words])
            self.counted_up = up

    def decode(self):
        """Decode until the capture ends."""
        if not self.samplerate:
            raise SamplerateError("Cannot decode without samplerate.")
        for name, (least, most) in BOUNDS.items():
            # nan is in no range
            if not least <= self.options[name] <= most:
                self.refuse(f"{name}={self.options[name]}: use {least:g} to {most:g}")
                return
        ms = self.samplerate / 1000
        self.timeout = int(self.options["timeout_ms"] * ms)
        self.every = self.options["statistics_every"]
        limits = (self.options["interrupt_limit_us"], self.options["scheduling_limit_us"])
        self.limits = [limit * ms / 1000 if limit > 0 else None for limit in limits]
        self.put(0, 0, self.out_binary, [CSV, HEADER])
        try:
            self.play()
        except (EOFError, SystemError):  # the latter is how libsigrokdecode 0.5.3 says it
            self.end_of_capture()

    def refuse(self, words):
        """Say what cannot be, for a terminal and for PulseView.

        An exception would be shown below its traceback, in which the words get lost.
        """
        print(f"tennis: {words}", file=sys.stderr, flush=True)
        self.put(0, 1, self.out_ann, [WARNING, [words]])

    def play(self):
        """Wait for edges, for ever."""
        ping_rise = {0: "r" if self.options["ping_polarity"] == "active-high" else "f"}
        high = int(self.options["reply_polarity"] == "active-high")
        edges = [ping_rise, {1: "e"}]
        while True:
            if self.state == IDLE:
                pins = self.wait(edges)
                ping, reply = self.matched[0], self.matched[1]
            else:
                left = self.timeout + 1 - (self.samplenum - self.served)
                pins = self.wait([*edges, {"skip": left}])
                ping, reply, late = self.matched[:3]
                if late:
                    self.close(complete=False)
            # of edges in one sample, an answer's end comes first and an answer's begin last
            up = pins[1] == high
            if reply and not up:
                self.reply(up=False)
            if ping:
                self.serve()
            if reply and up:
                self.reply(up=True)

    def end_of_capture(self):
        """Write the histogram: how often each latency occurred."""
        self.show_so_far()
        ns = 1e9 / self.samplerate
        lines = [HISTOGRAM_HEADER]
        for name, counted in zip(("interrupt", "scheduling"), self.histogram):
            for samples, balls in sorted(counted.items()):
                lines.append(f"{name},{samples * ns:.3f},{balls}\n".encode())
        end = max(self.samplenum, 0)
        self.put(end, end, self.out_binary, [HISTOGRAM, b"".join(lines)])
