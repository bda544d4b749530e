// Random SQL with a leak oracle: an object's own statements against the storage's own data.
//
// Checks: a secret that was put as a value appears in no row, column name or error, and in no table;
// keys, values and alarm are as the storage's own calls made them; no table of the object has a
// reserved name; an error has a code, and is not a defect. The programs run through `ctx-storage/node`.

import type { Draws } from '../../../packages/testing/page/draws.ts';
import type { StorageError } from '../../../src/shared/contract/errors.ts';
import type { DurableObjectStorage } from '../../../src/shared/contract/storage.ts';
import { createObjects, DurableObject } from '../../../worker/start/entries/node-objects.ts';
import { PollutionWatch } from './pollution.ts';
import { KEYS, StatementGrammar, type Step } from './statement-grammar.ts';
import type { Surface } from './surface.ts';

const ROUNDS = 2;
const ALARM_MS = Date.UTC(2100, 0, 1);

/** The expected content of the storage; kept outside the object, which may be reset in the middle. */
interface Expected {
  readonly entries: Map<string, unknown>;
  alarm: number | null;
  /** The content as of the last commit. */
  committed: { readonly entries: string; readonly alarm: number | null };
}

/** The programs by their object's name: an argument would be a copy. */
const running = new Map<
  string,
  { readonly steps: readonly Step[]; readonly expected: Expected; readonly secret: Secret }
>();

export class Hostile extends DurableObject {
  /** Runs the steps; returns the first fault. */
  async play(name: string): Promise<string | undefined> {
    const { steps, expected, secret } = running.get(name)!;
    const { storage } = this.ctx;
    const started = this.#difference(storage, expected, true);
    if (started !== undefined) return started;
    for (const step of steps) {
      const fault = await this.#perform(storage, step, expected, secret);
      const found = fault ?? this.#difference(storage, expected, false);
      if (found !== undefined) return `${JSON.stringify(step)}: ${found}`;
    }
    return (await this.#settle(storage, expected)) ?? this.#search(storage, secret);
  }

  async alarm(): Promise<void> {}

  async #perform(
    storage: DurableObjectStorage,
    step: Step,
    expected: Expected,
    secret: Secret,
  ): Promise<string | undefined> {
    try {
      switch (step.kind) {
        case 'sql': {
          const cursor = storage.sql.exec(step.text, ...(step.bindings as string[]));
          return secret.findIn([cursor.columnNames, cursor.raw().toArray().slice(0, 200)]);
        }
        case 'put':
          storage.kv.put(step.key, step.value);
          expected.entries.set(step.key, step.value);
          return undefined;
        case 'delete':
          storage.kv.delete(step.key);
          expected.entries.delete(step.key);
          return undefined;
        case 'list':
          await storage.list();
          return undefined;
        case 'deleteAll':
          await storage.deleteAll();
          expected.entries.clear();
          return undefined;
        case 'setAlarm':
          await storage.setAlarm(ALARM_MS);
          expected.alarm = ALARM_MS;
          return undefined;
        case 'deleteAlarm':
          await storage.deleteAlarm();
          expected.alarm = null;
          return undefined;
        case 'settle':
          return await this.#settle(storage, expected);
      }
    } catch (error) {
      return faultOf(error) ?? secret.findIn([[], [[(error as Error).message]]]);
    }
  }

  async #settle(storage: DurableObjectStorage, expected: Expected): Promise<string | undefined> {
    await storage.sync();
    await new Promise((resolve) => setTimeout(resolve, 0));
    const alarm = await storage.getAlarm();
    if (alarm !== expected.alarm) return `the alarm is ${alarm} and not ${expected.alarm}`;
    expected.committed = { entries: inOrder(expected.entries), alarm };
    return undefined;
  }

  /** The difference between the storage and the result of its own calls. */
  #difference(
    storage: DurableObjectStorage,
    expected: Expected,
    isAfterReset: boolean,
  ): string | undefined {
    const entries = inOrder(storage.kv.list());
    const wanted = inOrder(expected.entries);
    // After a reset of the object, uncommitted writes may or may not be stored.
    if (isAfterReset && entries === expected.committed.entries && entries !== wanted) {
      expected.entries.clear();
      for (const [key, value] of JSON.parse(entries)) expected.entries.set(key, value);
      return undefined;
    }
    return entries === wanted
      ? undefined
      : `the keys are ${entries.slice(0, 300)} and not ${wanted.slice(0, 300)}`;
  }

  /** Looks for the secret, and for reserved names, in everything the object can read. */
  #search(storage: DurableObjectStorage, secret: Secret): string | undefined {
    const schema = storage.sql.exec('SELECT name, type, sql FROM sqlite_schema').raw().toArray();
    const found = secret.findIn([[], schema]);
    if (found !== undefined) return `sqlite_schema: ${found}`;
    for (const [name, type] of schema as [string, string][]) {
      if (/^_cf(_|$)/i.test(name) && !['_cf_KV', '_cf_METADATA'].includes(name)) {
        return `there is a ${type} with the name ${name}`;
      }
      if (type !== 'table' && type !== 'view') continue;
      let rows: unknown[][];
      try {
        rows = storage.sql.exec(`SELECT * FROM "${name}" LIMIT 500`).raw().toArray();
      } catch (error) {
        const fault = faultOf(error);
        if (fault !== undefined) return `${type} ${name}: ${fault}`;
        continue;
      }
      if (/^_cf_/i.test(name)) return `${name} can be read`;
      const leak = secret.findIn([[], rows]);
      if (leak !== undefined) return `${type} ${name}: ${leak}`;
    }
    return undefined;
  }
}

/** A text that nobody can guess, and a length that nothing else has. */
class Secret {
  readonly text: string;
  readonly value: string;
  readonly #hex: string;

  constructor(draws: Draws) {
    this.text = `secret-${draws.times(3, () => draws.below(2 ** 30).toString(36)).join('')}`;
    this.value = this.text.padEnd(4391, '.');
    this.#hex = Buffer.from(this.text).toString('hex');
  }

  findIn([names, rows]: readonly [readonly string[], readonly unknown[][]]): string | undefined {
    const at = [names, ...rows].flat().find((value) => this.#isIn(value));
    return at === undefined ? undefined : `the secret shows: ${String(at).slice(0, 100)}`;
  }

  #isIn(value: unknown): boolean {
    // The lengths of the value: its characters, and those with the bytes around them.
    if (typeof value === 'number') return value >= 4391 && value <= 4400;
    const text =
      value instanceof ArrayBuffer ? Buffer.from(value).toString('latin1') : String(value);
    return text.includes(this.text) || text.toLowerCase().includes(this.#hex);
  }
}

export async function openStatements(): Promise<Surface> {
  const objects = await createObjects({ Hostile });
  const pollution = new PollutionWatch();
  let programs = 0;
  const tryProgram = async (name: string, draws: Draws): Promise<string | undefined> => {
    const stub = objects.env.Hostile.getByName(name);
    const secret = new Secret(draws);
    const expected: Expected = {
      entries: new Map(),
      alarm: null,
      committed: { entries: '[]', alarm: null },
    };
    const grammar = new StatementGrammar(draws);
    const planted: Step[] = [
      ...KEYS.map((key, value) => ({ kind: 'put', key, value }) as const),
      { kind: 'put', key: `key of ${secret.text}`, value: secret.value },
      { kind: 'setAlarm' },
      { kind: 'settle' },
    ];
    try {
      for (let round = 0; round < ROUNDS; round++) {
        const steps = [...(round === 0 ? planted : []), ...grammar.program()];
        running.set(name, { steps, expected, secret });
        try {
          const fault = await stub.play(name);
          if (fault !== undefined) return `${fault}\n${listing(steps)}`;
        } catch (error) {
          // A statement may break its object: it is reset, and its committed data is there again.
          const fault = faultOf(error);
          if (fault !== undefined) return `${fault}\n${listing(steps)}`;
        }
      }
      return undefined;
    } finally {
      running.delete(name);
      await objects.deleteObject(stub);
    }
  };
  return {
    casesPerSeed: 6,
    async attack(draws) {
      return (await tryProgram(`program ${++programs}`, draws)) ?? pollution.found();
    },
    close: () => objects.close(),
  };
}

/** An error without a code, or with the code of a defect, is a fault. */
function faultOf(error: unknown): string | undefined {
  const { code } = error as Partial<StorageError>;
  if (code !== undefined && code !== 'INTERNAL' && code !== 'CORRUPT') return undefined;
  return `failed with ${error instanceof Error ? error.stack : error}`;
}

function inOrder(entries: Iterable<readonly [string, unknown]>): string {
  return JSON.stringify([...entries].sort(([a], [b]) => (a < b ? -1 : 1)));
}

function listing(steps: readonly Step[]): string {
  return steps
    .map((step) =>
      step.kind === 'sql' ? `  ${step.text}` : `  -- ${JSON.stringify(step).slice(0, 80)}`,
    )
    .join('\n');
}
