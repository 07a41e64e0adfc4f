/** For the tests: random PIO programs, settings and inputs, repeatable from a seed. */
import { mix } from './respond.mjs';

/** A repeatable source of random numbers. */
export class Random {
  constructor(seed) {
    this.state = mix(seed);
  }

  /** A whole number in [0, below). */
  below(below) {
    this.state = (this.state + 0x9e3779b9) >>> 0;
    return Math.floor((mix(this.state) / 2 ** 32) * below);
  }

  chance(percent) {
    return this.below(100) < percent;
  }

  pick(list) {
    return list[this.below(list.length)];
  }
}

const JMP = 0;

/** An instruction; jumps are likely, and likely ones that loop. */
function instruction(random, at, length, side_count) {
  const delay_bits = 5 - side_count;
  const side = random.below(1 << side_count) << delay_bits;
  const delay = random.chance(25) && delay_bits ? random.below(1 << delay_bits) : 0;
  const field = (side | delay) << 8;
  const kind = random.below(100);
  if (kind < 55) {
    // always, !x, x--, !y, y--, x!=y, pin, !osre
    const condition = random.pick([0, 1, 2, 2, 2, 3, 4, 4, 4, 5, 6, 6, 6, 6, 7]);
    const near = Math.max(0, Math.min(length - 1, at - 2 + random.below(4)));
    const target = random.chance(80) ? near : random.below(length);
    return (JMP << 13) | field | (condition << 5) | target;
  }
  if (kind < 62) {
    // wait for a pin or a flag
    const source = random.pick([0, 1, 2]);
    const argument = source === 2 ? random.pick([0, 1, 0x10, 0x11]) : random.below(4);
    return (1 << 13) | field | (random.below(2) << 7) | (source << 5) | argument;
  }
  if (kind < 68)
    return (2 << 13) | field | (random.pick([0, 1, 2, 3, 6, 7]) << 5) | random.below(32);
  if (kind < 74) {
    const destination = random.pick([0, 1, 1, 2, 2, 3, 4, 6]);
    return (3 << 13) | field | (destination << 5) | random.below(32);
  }
  if (kind < 80) return (4 << 13) | field | (random.below(8) << 5);
  if (kind < 86) {
    const destination = random.pick([0, 1, 2, 6, 7]);
    const source = random.pick([0, 1, 2, 3, 5, 6, 7]);
    return (5 << 13) | field | (destination << 5) | (random.below(3) << 3) | source;
  }
  if (kind < 90) return (6 << 13) | field | (random.below(3) << 5) | random.pick([0, 1, 0x10]);
  return (7 << 13) | field | (random.pick([0, 0, 1, 2, 4]) << 5) | random.below(32);
}

/** Set up a block with random programs; the same for the same random numbers. */
export function scramble(random, fabric) {
  for (const block of fabric.pio) {
    const side_count = random.chance(25) ? 1 + random.below(2) : 0;
    const length = 4 + random.below(12);
    for (let i = 0; i < 32; i++) {
      block.instructions[i] = instruction(random, i % length, length, side_count);
    }
    block.bypass = random.chance(50) ? random.below(16) : 0;
    for (const machine of block.machines) {
      const pin = () => random.below(6);
      machine.setPinctrl(
        (side_count << 29) |
          (random.below(4) << 26) |
          (random.below(4) << 20) |
          (pin() << 15) |
          (pin() << 10) |
          (pin() << 5) |
          pin(),
      );
      machine.setExecctrl(
        (random.below(4) << 24) |
          ((length - 1) << 12) |
          (random.below(length) << 7) |
          (random.chance(20) && side_count ? 0x40000000 : 0) |
          (random.chance(10) ? 0x20000000 : 0) |
          (random.chance(10) ? 0x20000 : 0) |
          (random.below(2) << 4) |
          random.below(5),
      );
      machine.setShiftctrl(
        (random.chance(40) ? 0x10000 : 0) |
          (random.chance(40) ? 0x20000 : 0) |
          (random.below(4) << 18) |
          (random.below(32) << 20) |
          (random.below(32) << 25) |
          (random.chance(10) ? 0x40000000 : 0),
      );
      machine.divider = random.pick([256, 256, 256, 256, 512, 300, 257, 1000]);
      machine.x = random.pick([0, 1, 5, 100, 1000, random.below(2 ** 32)]);
      machine.y = random.pick([0, 1, 7, 50, 3000, random.below(2 ** 32)]);
      machine.pc = random.below(length);
    }
  }
}
