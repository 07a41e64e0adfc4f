/** A queue of at most `depth` words, as between a PIO state machine and the rest of the chip. */
export class Fifo {
  constructor(depth = 4) {
    this.depth = depth;
    this.words = new Uint32Array(8);
    this.first = 0;
    this.level = 0;
  }

  get empty() {
    return this.level === 0;
  }

  get full() {
    return this.level >= this.depth;
  }

  /** Only while not full. */
  push(word) {
    this.words[(this.first + this.level) & 7] = word;
    this.level++;
  }

  /** Only while not empty. */
  pull() {
    const word = this.words[this.first];
    this.first = (this.first + 1) & 7;
    this.level--;
    return word;
  }

  /** Forget all words; hold at most `depth` from now on. */
  clear(depth = this.depth) {
    this.depth = depth;
    this.level = 0;
  }

  /** The words, the oldest first. */
  list() {
    return Array.from({ length: this.level }, (_, i) => this.words[(this.first + i) & 7]);
  }

  copyFrom(other) {
    this.depth = other.depth;
    this.words.set(other.words);
    this.first = other.first;
    this.level = other.level;
  }
}
