// The rules of the input gate for any nesting of sections, events, I/O and failures, against a model
// that knows only which sections are open.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { InputGate } from './input-gate.ts';

/** One step of a task. */
type Step =
  /** Opens a section inside the running one. */
  | {
      readonly do: 'section';
      readonly steps: readonly Step[];
      readonly isAwaited: boolean;
      readonly fails: boolean;
    }
  /** Awaits something outside of the object. */
  | { readonly do: 'io'; readonly turns: number; readonly way: 'continuation' | 'later' }
  /** Something outside sends an event. */
  | { readonly do: 'event'; readonly steps: readonly Step[] }
  | { readonly do: 'close' };

interface Program {
  readonly events: readonly (readonly Step[])[];
  readonly turnsBetween: number;
}

const { steps } = fc.letrec<{ steps: Step[]; step: Step }>((tie) => ({
  steps: fc.array(tie('step'), { maxLength: 4, depthIdentifier: 'program' }),
  step: fc.oneof(
    { depthIdentifier: 'program', maxDepth: 5 },
    fc.record({
      do: fc.constant('io' as const),
      turns: fc.integer({ min: 0, max: 3 }),
      way: fc.constantFrom('continuation' as const, 'later' as const),
    }),
    fc.record({
      do: fc.constant('section' as const),
      steps: tie('steps'),
      isAwaited: fc.boolean(),
      fails: fc.boolean(),
    }),
    fc.record({ do: fc.constant('event' as const), steps: tie('steps') }),
  ),
}));

const program: fc.Arbitrary<Program> = fc.record({
  events: fc.array(steps, { minLength: 1, maxLength: 4 }),
  turnsBetween: fc.integer({ min: 0, max: 2 }),
});

class Failure extends Error {}

/** A section as the model knows it. */
interface Open {
  readonly parent: Open | null;
  ended: boolean;
}

/** Runs a program on a gate and notes every breach of a rule. */
class Run {
  readonly breaches: string[] = [];
  /** Begun tasks that have not settled. */
  readonly pending = new Set<string>();
  readonly #tasks: (() => void)[] = [];
  readonly #gate = new InputGate({ nextTurn: (task) => void this.#tasks.push(task) });
  /** Open sections, the innermost last. */
  readonly #open: Open[] = [];
  #begun = 0;
  #isClosed = false;
  /** Events in order of their delivery, which have not begun. */
  readonly #delivered: number[] = [];
  /** The event that runs in this turn, up to its first wait. */
  #undivided: number | undefined;

  /** `closesAfter`: the gate is closed after so many turns. */
  async all({ events, turnsBetween }: Program, closesAfter = Number.POSITIVE_INFINITY) {
    for (const each of events) {
      this.#send(each);
      for (let turn = 0; turn < turnsBetween; turn++) await this.#turn();
    }
    for (let turn = 0; this.#tasks.length > 0; turn++) {
      if (turn === closesAfter) this.#close();
      if (turn > 2000) throw new Error('The program does not come to an end.');
      await this.#turn();
    }
  }

  #close(): void {
    this.#gate.close();
    this.#isClosed = true;
  }

  async #turn(): Promise<void> {
    await microtasks();
    this.#undivided = undefined;
    this.#tasks.shift()?.();
    await microtasks();
  }

  #send(steps: readonly Step[]): void {
    const id = this.#begun++;
    this.#delivered.push(id);
    this.pending.add(`event ${id}`);
    this.#gate.deliver(null, async () => {
      this.#enter(null, `event ${id}`);
      this.#check(this.#delivered.shift() === id, `event ${id} comes out of order`);
      for (let i = 0; i < 3; i++) {
        this.#undivided ??= id;
        await null;
        this.#check(this.#undivided === id, `event ${id} shares its turn`);
      }
      await this.#perform(steps, null).catch((error) => this.#expectFailure(error));
      this.pending.delete(`event ${id}`);
    });
  }

  async #perform(steps: readonly Step[], section: Open | null): Promise<void> {
    for (const step of steps) {
      switch (step.do) {
        case 'io':
          await this.#io(step, section);
          break;
        case 'event':
          this.#tasks.push(() => this.#send(step.steps));
          break;
        case 'section': {
          const inner = this.#section(step, section);
          if (step.isAwaited) await inner;
          else inner.catch((error) => this.#expectFailure(error));
          break;
        }
      }
    }
  }

  async #io({ turns, way }: Extract<Step, { do: 'io' }>, section: Open | null): Promise<void> {
    const { currentSection } = this.#gate;
    const resume = this.#gate.continuation();
    const back = (task: () => void) =>
      way === 'continuation' ? resume(task) : this.#gate.deliverLater(currentSection, task);
    const id = `io ${this.#begun++}`;
    this.pending.add(id);
    await new Promise<void>((resolve) => {
      let left = turns;
      const wait = () => {
        if (left-- > 0) this.#tasks.push(wait);
        else back(resolve);
      };
      this.#tasks.push(wait);
    });
    this.pending.delete(id);
    this.#enter(section, id);
  }

  async #section(step: Extract<Step, { do: 'section' }>, around: Open | null): Promise<void> {
    const id = `section ${this.#begun++}`;
    const parent = live(around);
    this.pending.add(id);
    let isInCall = true;
    const own: Open = { parent, ended: false };
    const settled = this.#gate.runSection(async () => {
      this.#check(!isInCall, `${id} begins inside the call`);
      this.#enter(parent, id);
      this.#open.push(own);
      await this.#perform(step.steps, own);
      if (step.fails) throw new Failure(id);
    });
    isInCall = false;
    const end = () => {
      this.pending.delete(id);
      own.ended = true;
      this.#check(this.#open.pop() === own, `${id} ends before what it holds`);
    };
    await settled.then(end, (error) => {
      end();
      throw error;
    });
  }

  /** A task of the section goes on now: nothing else may be open further in. */
  #enter(section: Open | null, what: string): void {
    this.#check(!this.#isClosed, `${what} runs on a closed gate`);
    const innermost = this.#open.at(-1) ?? null;
    this.#check(live(section) === innermost, `${what} runs beside an open section`);
  }

  #check(holds: boolean, breach: string): void {
    if (!holds) this.breaches.push(breach);
  }

  #expectFailure(error: unknown): void {
    this.#check(error instanceof Failure, String(error));
  }
}

const microtasks = () => new Promise((resolve) => setImmediate(resolve));

function live(section: Open | null): Open | null {
  let current = section;
  while (current?.ended) current = current.parent;
  return current;
}

describe('any nesting', () => {
  const options = { numRuns: 400, interruptAfterTimeLimit: 15_000, markInterruptAsFailure: false };

  test('[GATE1] only the innermost section runs, events keep their order, and everything settles', async () => {
    await fc.assert(
      fc.asyncProperty(program, async (given) => {
        // A breach is code that runs beside an open section further in, or out of order; see `Run`.
        const run = new Run();
        await run.all(given);
        expect([run.breaches, [...run.pending]]).toEqual([[], []]);
      }),
      options,
    );
  });

  test('[GATE9] after it is closed nothing runs, whenever that is', async () => {
    await fc.assert(
      fc.asyncProperty(program, fc.integer({ min: 0, max: 30 }), async (given, closesAfter) => {
        const run = new Run();
        await run.all(given, closesAfter);
        expect(run.breaches).toEqual([]);
      }),
      options,
    );
  });
});
