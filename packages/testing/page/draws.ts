// Makes random choices with fast-check, for grammars that are easier to write as code than as arbitraries.
//
// fast-check makes each choice from its seed, remembers it, and shrinks it towards the first alternative. Choices are
// uniform: run properties with `unbiased`.

import fc from 'fast-check';

export class Draws {
  readonly #generate: fc.GeneratorValue;

  /** `generate` is a value of `fc.gen()`. */
  constructor(generate: fc.GeneratorValue) {
    this.#generate = generate;
  }

  /** Returns a whole number from 0 up to but not including the bound. */
  readonly below = (bound: number): number => this.#generate(fc.nat, bound - 1);

  /** Returns true with this probability; shrinks to false. */
  readonly chance = (probability: number): boolean => this.below(1000) >= 1000 * (1 - probability);

  readonly pick = <T>(choices: readonly T[]): T => choices[this.below(choices.length)]!;

  /** Returns a list of `count` items. */
  readonly times = <T>(count: number, make: () => T): T[] => Array.from({ length: count }, make);
}
