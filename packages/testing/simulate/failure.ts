// Describes the failure of a simulation: the seed, the shortest script as lines, and the error of the test's own
// assertion.

import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import type { ClientCall } from './client-calls.ts';
import type { RunOutcome } from './run.ts';
import { scriptLine, textOf } from './script.ts';

/** Thrown when a simulated run has failed. `cause` is the error of the invariant, or of the call. */
export class SimulationFailed extends Error {
  override readonly name = 'SimulationFailed';
  /** The seed that repeats the run, as the option `seed`. */
  readonly seed: string;
  /** The shortest script that still fails, as lines. */
  readonly script: readonly string[];
  /** The JSON file with the whole run, if one was asked for. */
  readonly file: string | undefined;

  constructor(
    message: string,
    facts: Pick<SimulationFailed, 'seed' | 'script' | 'file'>,
    cause: unknown,
  ) {
    super(message, { cause });
    this.seed = facts.seed;
    this.script = facts.script;
    this.file = facts.file;
  }
}

/** The facts that the message of a failure shows. */
export interface FailureFacts {
  readonly seed: string;
  readonly outcome: RunOutcome;
  /** The shortest run that still fails; undefined if the run was not repeatable, so that it cannot be shrunk. */
  readonly shortest: RunOutcome | undefined;
  /** The number of steps of the original run. */
  readonly stepCount: number;
  readonly file: string | undefined;
  readonly runsIn: 'here' | 'workerd';
}

export function failureOf({
  seed,
  outcome,
  shortest,
  stepCount,
  file,
  runsIn,
}: FailureFacts): SimulationFailed {
  const shown = shortest ?? outcome;
  const { error, when } = shown.failure!;
  const script = shown.script.map(scriptLine);
  const lines = [
    `seed '${seed}' fails ${runsIn === 'workerd' ? 'in workerd ' : ''}${when}: ${error instanceof Error ? error.message : textOf(error)}`,
    ...(shortest === undefined
      ? [runsIn === 'workerd' ? IN_WORKERD : unrepeatable(outcome)]
      : [`${script.length} of its ${stepCount} steps are enough:`]),
    ...script.map((line) => `  ${line}`),
    ...(shortest === undefined ? [] : [`See it again with { seed: '${seed}' }.`]),
    ...(file === undefined ? [] : [`The whole run: ${file}`]),
  ];
  return new SimulationFailed(lines.join('\n'), { seed, script, file }, error);
}

const IN_WORKERD = 'All of its steps, because the order in workerd is not of the seed:';

function unrepeatable({ world }: RunOutcome): string {
  const reason = world.waitedOutside
    ? 'The run has waited for something outside of it: a real timer, real I/O, or a thread. Pass it in, and replace it ' +
      'in the test; for requests there is the option fetch.'
    : 'A module of the classes, or the test, probably keeps state from one run to the next. Make that state in the ' +
      'setup, or in the instance.';
  return `The same seed does something else the second time, so the script is not shrunk. ${reason}`;
}

/**
 * Writes the whole run as JSON: every event, every call, the objects' databases and files as base64, and the source of
 * the classes, with which the playground opens it.
 */
export function writeRun(
  path: string,
  seed: string,
  outcome: RunOutcome,
  source: Readonly<Record<string, string>> | undefined,
): void {
  mkdirSync(dirname(path), { recursive: true });
  const { script, world, calls, failure, databases, digest } = outcome;
  const run = {
    format: 'ctx-storage simulation 1',
    seed,
    digest,
    failure: failure && { when: failure.when, message: textOf(failure.error) },
    script: script.map(scriptLine),
    calls: calls.made.map(plainCall),
    events: world.trace,
    databases: Object.fromEntries(
      [...databases].map(([name, bytes]) => [name, Buffer.from(bytes).toString('base64')]),
    ),
    clockMs: world.time.now(),
    objects: [...outcome.disks].map(([key, files]) => storedObject(outcome, key, files)),
    ...(source && { source }),
  };
  writeFileSync(path, `${JSON.stringify(run, null, 1)}\n`);
}

/** Encodes the files of an object. The zeros at the end of a log, which are written in advance, are only counted. */
function storedObject(
  { activity }: RunOutcome,
  key: string,
  files: ReadonlyMap<string, Uint8Array>,
): object {
  const id = key.split('.')[1]!;
  return {
    key,
    name: activity.objects.get(id)?.name ?? null,
    files: Object.fromEntries(
      [...files].map(([name, bytes]) => {
        const kept = bytes.subarray(0, bytes.findLastIndex((byte) => byte !== 0) + 1);
        const base64 = Buffer.from(kept).toString('base64');
        return [name, { sizeBytes: bytes.length, base64 }];
      }),
    ),
  };
}

function plainCall({ object, method, args, step, attempt, outcome }: ClientCall): object {
  return {
    object,
    method,
    args: args.map(textOf),
    step,
    attempt,
    outcome: outcome.kind,
    ...(outcome.kind === 'answered' && { value: textOf(outcome.value) }),
    ...(outcome.kind === 'failed' && { error: textOf(outcome.error) }),
  };
}
