/** What pads read on a net of resistors, beside what Ohm and Kirchhoff say. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { Fabric } from './fabric.mjs';
import { CAPACITY_PF, DRIVER_OHM, Net, PULL_OHM, RISING_V, FALLING_V, SUPPLY_V, parseNet } from './net.mjs';

const TICKS_A_NS = 0.125;
const [PING, REPLY] = [2, 3];
const WIRES = [
  ['gp2', 'far', 330],
  ['far', 't_ping', 0.1],
  ['gnd', 'tgnd', 0.1],
];
const REPLY_WIRE = [['gp3', 't_reply', 330]];

/** A fabric whose pads are driven by hand. */
function wired(resistors, more = {}) {
  const fabric = new Fabric();
  const outside = { outputs: 0, enables: 0 };
  fabric.collectOutputs = () => Object.assign(fabric.pads, outside);
  fabric.pads.net = new Net({ resistors, rise: 100, width: 50, ...more }, (cycles, action) => {
    fabric.at(fabric.now + cycles, () => {
      action();
      fabric.pads_at = fabric.now;
    });
  });
  const put = (change) => {
    Object.assign(outside, change);
    fabric.outputsChanged();
  };
  fabric.outputsChanged();
  fabric.advance(1000);
  return { fabric, put, level: (pad) => (fabric.pads.levels >>> pad) & 1 };
}

/** What a node has in the end. */
function volts({ fabric }, name) {
  const net = fabric.pads.net;
  return net.slopes[net.nodes.get(name)].to;
}

const near = (a, b, percent = 1) => assert.ok(Math.abs(a - b) <= (percent / 100) * Math.abs(b), `${a}, ${b}`);

test('behind 330 ohms a short leaves a driven pad high, and the far end low', () => {
  const bench = wired([...WIRES, ['far', 'gnd', 0.1]]);
  bench.put({ enables: 1 << PING, outputs: 1 << PING });
  bench.fabric.advance(3000);
  near(volts(bench, 'gp2'), (SUPPLY_V * 330) / (330 + DRIVER_OHM));
  assert.equal(bench.level(PING), 1);
  assert.ok(volts(bench, 't_ping') < 0.01);
});

test('a pull against a pull is neither level, and an input keeps what it saw', () => {
  const bench = wired(WIRES);
  bench.fabric.pads.pull_ups = 1 << PING;
  bench.put({});
  bench.fabric.advance(10_000);
  near(volts(bench, 'gp2'), SUPPLY_V / 2);
  assert.equal(bench.level(PING), 0);
  assert.ok(FALLING_V < SUPPLY_V / 2 && SUPPLY_V / 2 < RISING_V);
});

test('a pad that is let go of falls as its resistor and its capacity say', () => {
  const fallsAfter = (resistors) => {
    const bench = wired(resistors);
    bench.put({ enables: 1 << PING, outputs: 1 << PING });
    bench.fabric.advance(5000);
    bench.put({ enables: 0 });
    for (let cycle = 5001; cycle < 50_000; cycle++) {
      bench.fabric.advance(cycle);
      if (!bench.level(PING)) return (cycle - 5001) / TICKS_A_NS;
    }
    return Infinity;
  };
  // the target's pull; an output or a short behind the resistor; nothing
  near(fallsAfter(WIRES), (PULL_OHM + 330) * CAPACITY_PF * 1e-3 * Math.log(SUPPLY_V / FALLING_V), 2);
  assert.ok(fallsAfter([['gp2', 't_reply', 330], ['gnd', 'tgnd', 0.1]]) < 30);
  assert.equal(fallsAfter([['gp2', 'far', 330]]), Infinity);
});

test('the target answers what reaches it, and not what does not', () => {
  for (const [resistors, answered] of [
    [[...WIRES, ...REPLY_WIRE], true],
    [REPLY_WIRE, false],
  ]) {
    const bench = wired(resistors);
    const seen = [];
    bench.fabric.onPads = (mask, cycle) => mask & (1 << REPLY) && seen.push([cycle, bench.level(REPLY)]);
    bench.put({ enables: 1 << PING, outputs: 1 << PING });
    bench.fabric.advance(2000);
    const levels = seen.map(([, level]) => level);
    assert.deepEqual(levels, answered ? [1, 0] : []);
    if (answered) {
      const [[rise], [fall]] = seen;
      assert.ok(rise >= 1101 && rise <= 1106, `${rise}`);
      assert.ok(Math.abs(fall - rise - 50) <= 1);
    }
  }
});

test('a loose contact comes and goes by itself', () => {
  const loose = { period_us: 100, open_us: 30 };
  const bench = wired([['gp2', 'far', 330, loose], ['far', '3v3', 0.1]]);
  bench.fabric.pads.pull_downs = 1 << PING;
  bench.put({});
  const levels = [];
  for (let us = 100; us < 300; us += 10) {
    bench.fabric.advance(us * 125 - 1);
    levels.push(bench.level(PING));
  }
  assert.equal(levels.filter((level) => level === 0).length, 6);
});

test('what is no net is refused', () => {
  for (const text of [
    '{}',
    '{"resistors":[["gp2","far"]],"rise":1,"width":1}',
    '{"resistors":[],"rise":0,"width":1}',
    '{"resistors":[["a","b",1,{"period_us":1,"open_us":2}]],"rise":1,"width":1}',
  ]) {
    assert.throws(() => parseNet(text));
  }
});
