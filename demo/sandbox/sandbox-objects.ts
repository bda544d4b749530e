// Runs the objects in a sandbox: makes them from the shared data, calls them, and reports their history.
//
// Invariant: the files of shared data are in the memory of this worker before the first object runs. With an alarm, the
// clock stands where it stood when they were shared, so that no alarm is due that was not.

import {
  createObjects,
  type LoadedSource,
  MemoryMedium,
  type Objects,
} from '../../packages/entries/in-process.ts';
import type { DurableObjectNamespace } from '../../src/index.ts';
import { type Calls, callsOf, type Target } from '../playground/calls.ts';
import { type ObjectTime, type Reading, timeOf } from '../playground/object-time.ts';
import type { SharedData } from '../playground/shared-data.ts';

export class SandboxObjects {
  readonly calls: Calls;
  readonly #objects: Objects<Record<string, never>>;
  #followed: { readonly time: ObjectTime; end(): void } | null = null;

  private constructor(objects: Objects<Record<string, never>>, names: ReadonlyMap<string, string>) {
    this.#objects = objects;
    const calls = callsOf(objects);
    this.calls = {
      ...calls,
      // The names are added from the shared data, because the files do not contain their object's name.
      objects: async (classNames) =>
        (await calls.objects(classNames)).map((line) => ({
          ...line,
          name: names.get(line.id) ?? line.name,
        })),
    };
  }

  static async start(
    { classes, exports }: LoadedSource,
    wasm: Uint8Array<ArrayBuffer>,
    data: SharedData | null,
  ): Promise<SandboxObjects> {
    const medium = await mediumOf(data);
    const objects = (await createObjects(classes, { exports, wasm, medium })) as unknown as Objects<
      Record<string, never>
    >;
    if (data !== null && data.clockMs !== null) await objects.clock.set(data.clockMs);
    return new SandboxObjects(objects, namesOf(data, objects.env));
  }

  /** Reports the readings of one object, and stops reporting those of the object before. */
  async follow(
    target: Target,
    hear: (reading: Reading) => void,
    onError: (error: unknown) => void,
  ): Promise<void> {
    this.unfollow();
    const storage = await this.#storage(target);
    this.unfollow(); // Another call may have begun to follow an object meanwhile.
    const time = timeOf(storage);
    const end = time.follow(hear, onError);
    this.#followed = {
      time,
      end() {
        end();
        void storage.close();
      },
    };
  }

  unfollow(): void {
    this.#followed?.end();
    this.#followed = null;
  }

  /** Ends the objects. They also end with their worker. */
  close(): Promise<void> {
    this.unfollow();
    return this.#objects.close();
  }

  /** The history of the object that is followed. */
  get time(): ObjectTime {
    if (this.#followed === null) throw new Error('No object is followed.');
    return this.#followed.time;
  }

  #storage({ className, name }: Target) {
    return this.#objects.storage(namespaceOf(this.#objects.env, className).getByName(name));
  }
}

const namespaceOf = (env: object, className: string) =>
  Reflect.get(env, className) as DurableObjectNamespace<object>;

/** Returns the names in the shared data by id. A name is left out if the id is not made from it. */
function namesOf(data: SharedData | null, env: object): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  for (const { className, key, name } of data?.objects ?? []) {
    if (name === null || !Reflect.has(env, className)) continue;
    const id = namespaceOf(env, className).idFromName(name).toString();
    if (key === `${className}.${id}`) names.set(id, name);
  }
  return names;
}

async function mediumOf(data: SharedData | null): Promise<MemoryMedium> {
  const medium = new MemoryMedium();
  for (const { key, files } of data?.objects ?? []) {
    const directory = await medium.directory(key);
    for (const [name, bytes] of files) {
      const file = await directory.open(name);
      file.write(bytes, 0);
      file.close();
    }
  }
  return medium;
}
