/** How edges travel: delays, slopes, thresholds; and what of it a program sees. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { Edges, parseEdges } from './edges.mjs';
import { Fabric } from './fabric.mjs';

const TICKS_A_NS = 0.125;

function arrivalOf(options, level, from = 1 - level) {
  const edges = new Edges(options);
  edges.slopes[3] = { from, to: from, since: 0 };
  edges.levels = from ? 8 : 0;
  edges.change(3, level, 100, false, TICKS_A_NS);
  return edges.arriving[0].time - 100;
}

test('a slope crosses its thresholds when a resistor and a capacitor say so', () => {
  const options = { rc_ns: 8, rising: 0.6, falling: 0.25 };
  assert.ok(Math.abs(arrivalOf(options, 1) - Math.log(1 / 0.4)) < 1e-9);
  assert.ok(Math.abs(arrivalOf(options, 0) - Math.log(1 / 0.25)) < 1e-9);
  assert.equal(arrivalOf({ pad_ns: 4, wire_ns: 12 }, 1), 2);
});

test("a driver's own pad has neither its wire nor its slope", () => {
  const edges = new Edges({ pad_ns: 4, wire_ns: 100, rc_ns: 100 });
  edges.change(3, 1, 100, true, TICKS_A_NS);
  assert.equal(edges.arriving[0].time, 100.5);
});

test('a pulse that turns before its threshold is not seen', () => {
  const edges = new Edges({ rc_ns: 80 });
  edges.change(3, 1, 100, false, TICKS_A_NS);
  edges.change(3, 0, 102, false, TICKS_A_NS);
  assert.deepEqual(edges.arriving, []);
  // a long one is
  edges.change(3, 1, 200, false, TICKS_A_NS);
  edges.change(3, 0, 250, false, TICKS_A_NS);
  assert.deepEqual(
    edges.arriving.map(({ level }) => level),
    [true, false],
  );
});

test('what there is not is refused', () => {
  for (const text of ['{"rc":7}', '{"rc_ns":-1}', '{"rising":0.2}', '{"pad_ns":"x"}', '{']) {
    assert.throws(() => parseEdges(text), text);
  }
});

for (const [wire_ns, late] of [
  [0, 0],
  [7, 0],
  [14, 1],
  [30, 3],
]) {
  test(`the end of a wire of ${wire_ns} ns is seen ${late} cycles later, its own pad at once`, () => {
    const fabric = new Fabric();
    const { pads } = fabric;
    pads.connect(2, 6);
    pads.edges = new Edges({ wire_ns });
    fabric.collectOutputs = () => {
      pads.enables = 1 << 2;
      pads.outputs = fabric.now >= 50 ? 1 << 2 : 0;
    };
    fabric.at(50, () => fabric.outputsChanged());
    const seen = {};
    for (let cycle = 45; cycle < 70; cycle++) {
      fabric.advance(cycle);
      for (const pad of [2, 6]) if (pads.inputs & (1 << pad)) seen[pad] ??= cycle;
    }
    assert.deepEqual(seen, { 2: 51, 6: 51 + late });
  });
}

test('an edge from outside is seen in the cycle in which it comes, at every phase', () => {
  for (let phase = 0; phase < 1; phase += 1 / 16) {
    const fabric = new Fabric();
    fabric.pads.edges = new Edges({ pad_ns: 4 });
    fabric.at(50, () => fabric.drive(3, 1, phase));
    fabric.advance(50);
    assert.equal(fabric.pads.inputs >>> 3, phase + 0.5 < 1 ? 1 : 0, `phase ${phase}`);
    fabric.advance(51);
    assert.equal(fabric.pads.inputs >>> 3, 1);
    fabric.advance(52);
    assert.equal(fabric.pads.synchronised >>> 3, phase + 0.5 < 1 ? 1 : 0);
  }
});
