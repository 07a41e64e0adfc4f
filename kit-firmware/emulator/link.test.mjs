import assert from 'node:assert/strict';
import test from 'node:test';
import { CommonTime } from './link.mjs';
import { Random } from './random-programs.mjs';
import { draw, mix } from './respond.mjs';

test('common time and cycles are each other’s inverse', () => {
  const random = new Random(1);
  for (const hertz of [125e6, 133e6, 150e6, 200e6, 250e6, 132999999]) {
    const time = new CommonTime(1000, 77n, hertz);
    assert.equal(time.of(1000), 77n);
    for (let i = 0; i < 1000; i++) {
      const cycle = 1000 + random.below(2 ** 31) * random.below(1000);
      const begins = time.of(cycle);
      assert.equal(time.cycleAt(begins), cycle);
      // a nanosecond later the next cycle is the first that is not before it
      assert.equal(time.cycleAt(begins + 1n), cycle + 1);
    }
  }
});

test('the random numbers are those of gaps.py', () => {
  // >>> gaps.mix(1), gaps.mix(0xffffffff), gaps.gap_ns(5, 3, 100, 1000)
  assert.deepEqual([mix(1), mix(0xffffffff), draw(5, 3, 100, 1000)], [1753845952, 1734902346, 231]);
});
