// Follows the code of the simulated classes: which methods run, where each of them waits, and which of them interleave
// in one object.
//
// A wait is a place where a method waits beyond the end of a turn of the event loop. There other events may run, and a
// host may end. The waits of a method are counted within each call, from 1.

import { createHook } from 'node:async_hooks';
import type { UserClass } from '@ctx-storage/worker/objects';
import { type RunningEvent, scope } from './scope.ts';
import { textOf } from './script.ts';
import type { World } from './world.ts';

/** An object that was constructed, with its class and id. */
export interface SeenObject {
  readonly label: string;
  readonly className: string;
  readonly id: string;
  readonly name: string | undefined;
}

/** The part of `ctx` that is used here. */
interface Ctx {
  readonly id: { readonly name?: string; toString(): string };
  readonly storage: { sync(): Promise<void> };
}

type Method = (this: object, ...args: unknown[]) => unknown;

export class Activity {
  readonly running = new Set<RunningEvent>();
  /** The objects that were seen, by id. */
  readonly objects = new Map<string, SeenObject>();
  readonly waits = new Set<string>();
  readonly interleavings = new Set<string>();
  /** The alarms whose last retry has failed. */
  readonly givenUp: string[] = [];
  lateAlarms = 0;
  /** If true, the platform is told that the next alarm that succeeds has failed, so that it runs again. */
  repeatsAlarm = false;
  repeatedAlarms = 0;
  readonly #world: World;

  constructor(world: World) {
    this.#world = world;
  }

  /** Returns a subclass of the class whose objects report to this. Its own methods behave as before. */
  watch(className: string, userClass: UserClass): UserClass {
    const activity = this;
    const Watched = class extends (userClass as new (ctx: unknown, env: unknown) => object) {
      constructor(ctx: Ctx, env: unknown) {
        super(ctx, env);
        activity.#constructed(className, ctx, this);
      }
    };
    Object.defineProperty(Watched, 'name', { value: userClass.name });
    for (const name of methodNames(userClass)) {
      const original = Reflect.get(userClass.prototype, name) as Method;
      const watched: Method = function (...args) {
        return activity.#call(className, name, this, args, original);
      };
      Object.defineProperty(Watched.prototype, name, {
        value: watched,
        configurable: true,
        writable: true,
      });
    }
    return Watched as unknown as UserClass;
  }

  /** Records that the host has ended, so that none of its code runs any more. */
  hostEnded(): RunningEvent[] {
    const ended = [...this.running];
    this.running.clear();
    for (const { method, waits } of ended) this.waits.add(`${method} ${waits + 1}`);
    return ended;
  }

  /** Records that an object of the run is used. */
  noteObject({ className, id, name }: Omit<SeenObject, 'label'>): SeenObject {
    // After a crash, the host may know only the object's id, and not its name.
    const known = this.objects.get(id);
    if (known !== undefined && (known.name !== undefined || name === undefined)) return known;
    const seen = { label: `${className}/${name ?? id.slice(0, 8)}`, className, id, name };
    this.objects.set(id, seen);
    return seen;
  }

  /** Records that the object's instance has ended, so that none of its code runs any more. */
  objectEnded(label: string): void {
    for (const event of this.running) if (event.object === label) this.running.delete(event);
  }

  readonly #labels = new WeakMap<object, string>();
  readonly #contexts = new WeakMap<object, Ctx>();

  #constructed(className: string, ctx: Ctx, instance: object): void {
    const id = ctx.id.toString();
    const { label } = this.noteObject({ className, id, name: ctx.id.name });
    this.objectEnded(label);
    this.#labels.set(instance, label);
    this.#contexts.set(instance, ctx);
    this.#world.note(`${label} is constructed`);
  }

  #call(className: string, name: string, self: object, args: unknown[], original: Method): unknown {
    const store = scope.getStore();
    const object = this.#labels.get(self);
    // A method that the object's own code or its constructor calls is not an event.
    if (store === undefined || object === undefined || store.event?.instance === self) {
      return original.apply(self, args);
    }
    const event: RunningEvent = {
      owner: this,
      instance: self,
      object,
      method: `${className}.${name}`,
      waits: 0,
      lastTurn: this.#world.turns.count,
    };
    this.#entered(event);
    this.running.add(event);
    const shown = name === 'alarm' ? '' : args.map(textOf).join(', ');
    this.#world.note(`${object}.${name}(${shown}) begins`);
    if (name === 'alarm') this.#checkLate(args);
    const end = (how: string) => {
      if (!this.running.delete(event)) return;
      this.#world.note(`${object}.${name} ${how}`);
    };
    let result: unknown;
    try {
      result = scope.run({ ...store, event }, () => original.apply(self, args));
    } catch (error) {
      end(`throws ${textOf(error)}`);
      throw error;
    }
    if (!(result instanceof Promise)) {
      end('ends');
      return result;
    }
    return result.then(
      async (value: unknown) => {
        end('ends');
        if (name === 'alarm') await this.#repeat(self, object);
        return value;
      },
      (error: unknown) => {
        end(`fails: ${textOf(error)}`);
        if (name === 'alarm' && (args[0] as { retryCount?: number })?.retryCount === 6) {
          this.givenUp.push(object);
        }
        throw error;
      },
    );
  }

  /** Records that the event runs code now: events that wait in the same object are interleaved with it. */
  #entered(event: RunningEvent): void {
    for (const other of this.running) {
      if (other === event || other.instance !== event.instance) continue;
      if (other.lastTurn === event.lastTurn) continue;
      this.interleavings.add(`${event.method} at ${other.method} ${other.waits + 1}`);
    }
  }

  /** Records that code of an event continues after an `await`. */
  resumed(event: RunningEvent): void {
    const { count } = this.#world.turns;
    if (event.lastTurn === count || !this.running.has(event)) return;
    event.waits += 1;
    event.lastTurn = count;
    this.waits.add(`${event.method} ${event.waits}`);
    this.#entered(event);
  }

  #checkLate([info]: unknown[]): void {
    const { scheduledTime = 0, retryCount = 0 } = (info ?? {}) as {
      scheduledTime?: number;
      retryCount?: number;
    };
    if (retryCount === 0 && this.#world.time.now() - scheduledTime >= LATE_MS) this.lateAlarms += 1;
  }

  /**
   * Sometimes runs an alarm again after it has succeeded, because the platform promises only to run it at least once.
   */
  async #repeat(self: object, object: string): Promise<void> {
    if (!this.repeatsAlarm) return;
    this.repeatsAlarm = false;
    await this.#contexts.get(self)?.storage.sync();
    this.repeatedAlarms += 1;
    this.#world.note(`${object}.alarm runs again`);
    throw new Error('The simulation runs the alarm again, although it has succeeded.');
  }
}

/** An alarm counts as late if it runs this long after its time. */
const LATE_MS = 40;

/** Returns the names of the methods of a class and of the classes that it extends, without those of the platform. */
function methodNames(userClass: UserClass): Set<string> {
  const names = new Set<string>();
  let prototype: object | null = userClass.prototype as object;
  for (; prototype !== null && prototype !== Object.prototype; ) {
    for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(prototype))) {
      if (name !== 'constructor' && typeof value === 'function') names.add(name);
    }
    prototype = Object.getPrototypeOf(prototype) as object | null;
  }
  return names;
}

/** Counts the waits of running methods until the returned function is called. */
export function followAwaits(): () => void {
  const hook = createHook({
    before() {
      const event = scope.getStore()?.event;
      event?.owner.resumed(event);
    },
  });
  hook.enable();
  return () => void hook.disable();
}
