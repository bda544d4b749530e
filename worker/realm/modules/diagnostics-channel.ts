// Implements `node:diagnostics_channel` for browsers: named channels, and channels that trace a call. Programs in Node
// get Node's own module.
//
// Invariant: there is one channel per name. A subscriber that throws affects neither the publisher nor other
// subscribers.

import { bindToFrame } from '../../../src/shared/calls/io/async-frame.ts';
import type { AsyncLocalStorage } from './async-hooks.ts';

type ChannelName = string | symbol;
type Subscriber = (message: unknown, name: ChannelName) => void;
type Transform = (message: unknown) => unknown;
type Call = (...args: never[]) => unknown;

const channels = new Map<ChannelName, Channel>();

export class Channel {
  readonly name: ChannelName;
  readonly #subscribers = new Set<Subscriber>();
  readonly #stores = new Map<AsyncLocalStorage<unknown>, Transform>();

  constructor(name: ChannelName) {
    this.name = name;
  }

  get hasSubscribers(): boolean {
    return this.#subscribers.size + this.#stores.size > 0;
  }

  subscribe(subscriber: Subscriber): void {
    if (typeof subscriber !== 'function') {
      throw new TypeError('Channel.subscribe: takes a function.');
    }
    this.#subscribers.add(subscriber);
  }

  unsubscribe(subscriber: Subscriber): boolean {
    return this.#subscribers.delete(subscriber);
  }

  publish(message: unknown): void {
    for (const subscriber of [...this.#subscribers]) {
      try {
        subscriber(message, this.name);
      } catch (error) {
        reportError(error);
      }
    }
  }

  /** Makes `runStores` run the store with the transformed message as its value. */
  bindStore(store: AsyncLocalStorage<unknown>, transform: Transform = (message) => message): void {
    this.#stores.set(store, transform);
  }

  unbindStore(store: AsyncLocalStorage<unknown>): boolean {
    return this.#stores.delete(store);
  }

  /** Publishes the message and calls the function, both inside the bound stores. */
  runStores(message: unknown, call: Call, thisArg?: unknown, ...args: unknown[]): unknown {
    let run = () => {
      this.publish(message);
      return Reflect.apply(call, thisArg, args);
    };
    for (const [store, transform] of this.#stores) {
      const inner = run;
      run = () => store.run(transform(message), inner);
    }
    return run();
  }
}

const TRACED_EVENTS = ['start', 'end', 'asyncStart', 'asyncEnd', 'error'] as const;
type TracedEvent = (typeof TRACED_EVENTS)[number];
type TraceSubscribers = Partial<Record<TracedEvent, Subscriber>>;
type TraceChannels = Readonly<Record<TracedEvent, Channel>>;
/** The state that the subscribers of one traced call share. */
type Trace = Record<string, unknown>;

export class TracingChannel implements TraceChannels {
  readonly start: Channel;
  readonly end: Channel;
  readonly asyncStart: Channel;
  readonly asyncEnd: Channel;
  readonly error: Channel;

  constructor(channelOf: (event: TracedEvent) => Channel) {
    this.start = channelOf('start');
    this.end = channelOf('end');
    this.asyncStart = channelOf('asyncStart');
    this.asyncEnd = channelOf('asyncEnd');
    this.error = channelOf('error');
  }

  get hasSubscribers(): boolean {
    return TRACED_EVENTS.some((event) => this[event].hasSubscribers);
  }

  subscribe(subscribers: TraceSubscribers): void {
    for (const event of TRACED_EVENTS) {
      const subscriber = subscribers[event];
      if (subscriber !== undefined) this[event].subscribe(subscriber);
    }
  }

  unsubscribe(subscribers: TraceSubscribers): boolean {
    const found = TRACED_EVENTS.filter((event) => subscribers[event] !== undefined).map((event) =>
      this[event].unsubscribe(subscribers[event]!),
    );
    return found.every(Boolean);
  }

  traceSync(call: Call, trace: Trace = {}, thisArg?: unknown, ...args: unknown[]): unknown {
    return this.start.runStores(trace, () => {
      try {
        const result = Reflect.apply(call, thisArg, args);
        trace.result = result;
        return result;
      } catch (error) {
        this.#fail(trace, error);
        throw error;
      } finally {
        this.end.publish(trace);
      }
    });
  }

  tracePromise(
    call: Call,
    trace: Trace = {},
    thisArg?: unknown,
    ...args: unknown[]
  ): Promise<unknown> {
    const settled = (part: Trace) => {
      Object.assign(trace, part);
      if ('error' in part) this.error.publish(trace);
      this.asyncStart.publish(trace);
      this.asyncEnd.publish(trace);
    };
    return this.start.runStores(trace, () => {
      try {
        return Promise.resolve(Reflect.apply(call, thisArg, args)).then(
          (result) => {
            settled({ result });
            return result;
          },
          (error) => {
            settled({ error });
            throw error;
          },
        );
      } catch (error) {
        this.#fail(trace, error);
        throw error;
      } finally {
        this.end.publish(trace);
      }
    }) as Promise<unknown>;
  }

  /** Traces a call that takes a callback as its argument at `position`, which counts from the end if negative. */
  traceCallback(
    call: Call,
    position = -1,
    trace: Trace = {},
    thisArg?: unknown,
    ...args: unknown[]
  ): unknown {
    const callback = args.at(position);
    if (typeof callback !== 'function') {
      throw new TypeError('TracingChannel.traceCallback: the callback is not a function.');
    }
    const traced = (error: unknown, result: unknown, ...more: unknown[]) => {
      if (error) this.#fail(trace, error);
      else trace.result = result;
      return this.asyncStart.runStores(trace, () => {
        try {
          return callback(error, result, ...more);
        } finally {
          this.asyncEnd.publish(trace);
        }
      });
    };
    args.splice(position, 1, bindToFrame(traced));
    return this.start.runStores(trace, () => {
      try {
        return Reflect.apply(call, thisArg, args);
      } catch (error) {
        this.#fail(trace, error);
        throw error;
      } finally {
        this.end.publish(trace);
      }
    });
  }

  #fail(trace: Trace, error: unknown): void {
    trace.error = error;
    this.error.publish(trace);
  }
}

/** Returns the channel of this name; creates it on first use. */
export function channel(name: ChannelName): Channel {
  if (typeof name !== 'string' && typeof name !== 'symbol') {
    throw new TypeError('diagnostics_channel: the name of a channel is a string or a symbol.');
  }
  const found = channels.get(name) ?? new Channel(name);
  channels.set(name, found);
  return found;
}

export function hasSubscribers(name: ChannelName): boolean {
  return channels.get(name)?.hasSubscribers ?? false;
}

export function subscribe(name: ChannelName, subscriber: Subscriber): void {
  channel(name).subscribe(subscriber);
}

export function unsubscribe(name: ChannelName, subscriber: Subscriber): boolean {
  return channels.get(name)?.unsubscribe(subscriber) ?? false;
}

/** Makes a tracing channel from the five channels of a name, or from five given channels. */
export function tracingChannel(nameOrChannels: string | TraceChannels): TracingChannel {
  return new TracingChannel((event) =>
    typeof nameOrChannels === 'string'
      ? channel(`tracing:${nameOrChannels}:${event}`)
      : nameOrChannels[event],
  );
}

export default {
  Channel,
  TracingChannel,
  channel,
  hasSubscribers,
  subscribe,
  tracingChannel,
  unsubscribe,
};
