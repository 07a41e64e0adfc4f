// The pictures of explore.html.j2: a dot for each ball. A click on a dot says what is known of the ball.
"use strict";
(() => {
  const rallies = JSON.parse(document.getElementById("balls").textContent);
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  const MARGIN = { left: 58, right: 10, top: 10, bottom: 26 };
  const NEAR_PX = 30;
  let latency = "interrupt";

  // as tennis/kit/units.py writes a time: three digits
  const time = (ns) => {
    if (ns === null) return "no answer in time";
    if (ns < 1000) return `${ns} ns`;
    for (const [size, unit] of [[1e3, "µs"], [1e6, "ms"], [1e9, "s"]])
      for (const decimals of [2, 1, 0]) {
        const text = (ns / size).toFixed(decimals);
        if (Number(text) < 10 ** (3 - decimals)) return `${text} ${unit}`;
      }
    return `${Math.round(ns / 1e9)} s`;
  };
  // zeros behind the point only: 100 µs stays that
  const round = (text) => text.replace(/\.0+ /, " ");
  const value = (rally, ball) => latency !== "both" ? rally[latency][ball]
    : rally.interrupt[ball] === null || rally.scheduling[ball] === null ? null
    : rally.interrupt[ball] + rally.scheduling[ball];

  for (const [index, rally] of rallies.entries()) {
    let at = 0;
    rally.served = rally.steps_us.map((step) => (at += step));
    rally.canvas = document.getElementById(`picture-${index}`);
    rally.said = document.getElementById(`said-${index}`);
    rally.why = document.getElementById(`why-${index}`);
    rally.chosen = null;
    rally.rank = -1;
  }

  // one scale for all pictures: mainline beside rt
  let low = 1, high = 10, end = 1;
  const measure = () => {
    low = Infinity; high = 0; end = 1;
    for (const rally of rallies) {
      end = Math.max(end, rally.served[rally.served.length - 1]);
      for (let ball = 0; ball < rally.served.length; ball++) {
        const ns = value(rally, ball);
        if (ns === null) continue;
        low = Math.min(low, Math.max(ns, 1)); high = Math.max(high, ns);
      }
      // the latest first, missed balls before them
      rally.order = rally.served.map((_, ball) => ball)
        .sort((a, b) => (value(rally, b) ?? Infinity) - (value(rally, a) ?? Infinity) || a - b);
      rally.rank = -1;
    }
    low /= 1.3; high = Math.max(high, low * 10) * 1.3;
  };
  const place = (rally, ball) => {
    const { clientWidth: width, clientHeight: height } = rally.canvas;
    const inner = { w: width - MARGIN.left - MARGIN.right, h: height - MARGIN.top - MARGIN.bottom };
    const ns = value(rally, ball) ?? high;
    return [MARGIN.left + inner.w * rally.served[ball] / end,
      MARGIN.top + inner.h * (1 - Math.log(Math.max(ns, 1) / low) / Math.log(high / low))];
  };

  const draw = (rally) => {
    const { canvas } = rally, width = canvas.clientWidth, height = canvas.clientHeight;
    const ratio = window.devicePixelRatio || 1;
    canvas.width = width * ratio; canvas.height = height * ratio;
    const paper = canvas.getContext("2d");
    paper.scale(ratio, ratio);
    paper.font = "12px system-ui, sans-serif";
    paper.textBaseline = "middle";
    for (let ns = 10 ** Math.ceil(Math.log10(low)); ns <= high; ns *= 10) {
      const y = MARGIN.top + (height - MARGIN.top - MARGIN.bottom) * (1 - Math.log(ns / low) / Math.log(high / low));
      paper.strokeStyle = colour("line");
      paper.beginPath(); paper.moveTo(MARGIN.left, y); paper.lineTo(width - MARGIN.right, y); paper.stroke();
      paper.fillStyle = colour("soft"); paper.textAlign = "right";
      paper.fillText(round(time(ns)), MARGIN.left - 6, y);
    }
    paper.fillStyle = colour("soft"); paper.textAlign = "left";
    paper.fillText("0 s", MARGIN.left, height - 10);
    paper.textAlign = "right";
    paper.fillText(`${(end / 1e6).toFixed(1)} s after the first ball`, width - MARGIN.right, height - 10);
    paper.fillStyle = colour("accent");
    paper.globalAlpha = 0.55;
    for (let ball = 0; ball < rally.served.length; ball++) {
      const [x, y] = place(rally, ball);
      if (value(rally, ball) === null) paper.fillText("×", x, y); else paper.fillRect(x - 1, y - 1, 2, 2);
    }
    paper.globalAlpha = 1;
    paper.strokeStyle = colour("warn-line");
    paper.lineWidth = 1.5;
    for (const ball of rally.explained) {
      const [x, y] = place(rally, ball);
      paper.beginPath(); paper.arc(x, y, 4, 0, 7); paper.stroke();
    }
    if (rally.chosen !== null) {
      const [x, y] = place(rally, rally.chosen);
      paper.strokeStyle = colour("ink"); paper.lineWidth = 2;
      paper.beginPath(); paper.arc(x, y, 9, 0, 7); paper.stroke();
    }
  };

  const choose = (index, ball) => {
    const rally = rallies[index];
    rally.chosen = ball;
    const both = rally.interrupt[ball] === null ? ": no answer in time"
      : `: the handler answered after ${time(rally.interrupt[ball])}, the bottom half ` +
        (rally.scheduling[ball] === null ? "not in time" : `${time(rally.scheduling[ball])} later`);
    rally.said.textContent = `Ball ${ball.toLocaleString("en")}, ${(rally.served[ball] / 1e6).toFixed(6)} s after the first${both}.`;
    const known = rally.explained.includes(ball);
    rally.why.textContent = known ? "Why was it late?" : `To explain it, with Tennis: tennis explain ${rally.folder} --ball ${ball}`;
    rally.why.toggleAttribute("href", false);
    if (known) rally.why.setAttribute("href", `#ball-${index}-${ball}`);
    draw(rally);
  };
  const open = () => {
    const asked = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (asked && asked.tagName === "DETAILS") { asked.open = true; asked.scrollIntoView(); asked.querySelector("summary").focus(); }
  };

  for (const [index, rally] of rallies.entries()) {
    rally.canvas.addEventListener("click", (event) => {
      const box = rally.canvas.getBoundingClientRect();
      let best = null, least = NEAR_PX ** 2;
      for (let ball = 0; ball < rally.served.length; ball++) {
        const [x, y] = place(rally, ball);
        const far = (x - event.clientX + box.left) ** 2 + (y - event.clientY + box.top) ** 2;
        if (far < least) { least = far; best = ball; }
      }
      if (best !== null) choose(index, best);
    });
    const step = (by) => {
      rally.rank = Math.min(Math.max(rally.rank + by, 0), rally.order.length - 1);
      choose(index, rally.order[rally.rank]);
    };
    document.getElementById(`latest-${index}`).addEventListener("click", () => { rally.rank = -1; step(1); });
    document.getElementById(`next-${index}`).addEventListener("click", () => step(1));
    rally.why.addEventListener("click", () => setTimeout(open, 0));
  }
  for (const choice of document.querySelectorAll("input[name=latency]"))
    choice.addEventListener("change", () => { latency = choice.value; measure(); rallies.forEach(draw); });
  window.addEventListener("hashchange", open);
  const redraw = () => rallies.forEach(draw);
  window.addEventListener("resize", redraw);
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  // where a ball's dot is, for those who look at this page by a program
  window.tennis = { place: (index, ball) => place(rallies[index], ball), time, round: (ns) => round(time(ns)) };
  measure();
  redraw();
  open();
})();
