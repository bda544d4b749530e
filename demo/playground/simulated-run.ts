// Converts the file of a failed simulation to shared code with data: the objects as the run has left them, with their
// history.
//
// The file may come from a stranger, so it is converted to a link and checked as every link is.

import { fromText, toText } from './packed.ts';
import { toHash } from './share-link.ts';
import { packData, type SharedData } from './shared-data.ts';

const FORMAT = 'ctx-storage simulation 1';

interface SimulatedRun {
  readonly format: unknown;
  readonly seed: string;
  readonly source?: Readonly<Record<string, string>>;
  readonly clockMs: number;
  readonly objects: readonly {
    readonly key: string;
    readonly name: string | null;
    readonly files: Readonly<
      Record<string, { readonly sizeBytes: number; readonly base64: string }>
    >;
  }[];
}

/** Returns whether the text may be such a file. */
export const isRun = (text: string): boolean => text.startsWith('{');

/** Returns the hash of the link. @throws Error that names the problem with the file */
export async function hashOfRun(text: string): Promise<string> {
  const run = parsed(text);
  if (run.source === undefined) {
    throw new Error(
      'The file of the run has no code. Give simulate() the option source, as { "main.ts": text }.',
    );
  }
  let data: SharedData;
  try {
    data = dataOf(run);
  } catch (cause) {
    throw new Error('The file of the run is damaged: its objects cannot be read.', { cause });
  }
  return toHash({
    name: `Simulated run ${run.seed}`,
    files: run.source,
    data: toText(await packData(data)),
  });
}

function parsed(text: string): SimulatedRun {
  let run: Partial<SimulatedRun> | null = null;
  try {
    run = JSON.parse(text) as Partial<SimulatedRun> | null;
  } catch {
    // The error below reports this.
  }
  if (run?.format === FORMAT) return run as SimulatedRun;
  throw new Error('The file has neither shared code nor a simulated run in it.');
}

function dataOf({ clockMs, objects }: SimulatedRun): SharedData {
  return {
    clockMs,
    objects: objects.map(({ key, name, files }) => ({
      key,
      className: key.split('.')[0]!,
      name,
      files: new Map(
        Object.entries(files).map(([fileName, { sizeBytes, base64 }]) => {
          const bytes = new Uint8Array(sizeBytes);
          bytes.set(fromText(base64));
          return [fileName, bytes];
        }),
      ),
    })),
  };
}
