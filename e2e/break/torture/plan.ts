// The steps of a torture, decided by its seed alone: which fault, in which tab, after how many writes.

export type Fault =
  | 'close the leading tab'
  | 'close a tab that follows'
  | 'terminate the leading worker'
  | 'navigate away'
  | 'reload'
  | 'abort the object'
  | 'crash the page'
  | 'kill the renderers'
  | 'kill the browser'
  /** Until the next fault has hit. */
  | 'fill the disk';

/** Objects of `openStorage`, and of classes: each kind has a leader of its own. */
export type Kind = 'storage' | 'objects';
export const KINDS: readonly Kind[] = ['storage', 'objects'];

export interface Step {
  readonly fault: Fault;
  /** The kind of the leader or handle that the fault hits. */
  readonly kind: Kind;
  /** The number of the tab among those that the fault can hit. */
  readonly tab: number;
  /** How many writes are acknowledged before it. */
  readonly writes: number;
}

const EVERYWHERE: readonly Fault[] = [
  'close the leading tab',
  'close the leading tab',
  'close a tab that follows',
  'terminate the leading worker',
  'terminate the leading worker',
  'navigate away',
  'reload',
  'abort the object',
];

/** Faults by browser. A killed process of a tab takes a whole Firefox session with it. */
export const FAULTS = {
  firefox: EVERYWHERE,
  chromium: [
    ...EVERYWHERE,
    ...EVERYWHERE,
    'crash the page',
    'kill the renderers',
    'kill the browser',
  ],
} as const satisfies Record<string, readonly Fault[]>;

/** The faults for a disk that fills in every third round: half of the other faults hit while it is full. */
export const FAULTS_OF_SMALL_DISK: readonly Fault[] = [
  ...FAULTS.chromium,
  ...Array.from({ length: 9 }, (): Fault => 'fill the disk'),
];

const WRITES_MAX = 30;

/** The steps of a seed, without end. */
export function* planOf(seed: number, faults: readonly Fault[]): Generator<Step, never> {
  let state = seed >>> 0;
  // A linear congruential generator (the constants of Numerical Recipes); its low bits are poor.
  const below = (limit: number) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
  };
  for (;;) {
    yield {
      fault: faults[below(faults.length)]!,
      kind: below(2) === 0 ? 'storage' : 'objects',
      tab: below(1 << 16),
      writes: 1 + below(WRITES_MAX),
    };
  }
}
