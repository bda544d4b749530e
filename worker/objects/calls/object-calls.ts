// Delivers calls to objects and entry points: from pages, each over its own connection, and from code in the worker.
//
// A call is one event of its receiver. The event reads the arguments and writes the result, and the answer
// leaves through the output gate.

import { withFixedHeaders } from '../../../src/shared/calls/http/overlay.ts';
import type { Answer, OutgoingCall } from '../../../src/shared/calls/membrane/caller.ts';
import type { Draft, ReferenceChannel } from '../../../src/shared/calls/membrane/channel.ts';
import { checkDraftSize } from '../../../src/shared/calls/membrane/payload-limit.ts';
import { pairOfReferences, References } from '../../../src/shared/calls/membrane/references.ts';
import { socketOf } from '../../../src/shared/calls/sockets/install.ts';
import { callEntry, parametersIn, readEntry } from '../../../src/shared/calls/stubs/invoke.ts';
import { FREE, type Party, type PartyIo } from '../../../src/shared/calls/stubs/party.ts';
import { disposeOf } from '../../../src/shared/calls/stubs/rpc-promise.ts';
import { fromWireAddress, toWireAddress } from '../../../src/shared/calls/stubs/wire-address.ts';
import { storageError } from '../../../src/shared/contract/errors.ts';
import { addressKey, type ObjectAddress } from '../../../src/shared/contract/object-id.ts';
import { mustBeCallable } from '../../../src/shared/contract/rpc-class.ts';
import { deserialize, deserializeFromPeer } from '../../../src/shared/values/decode.ts';
import { serialize } from '../../../src/shared/values/encode.ts';
import { passedValue, refusalOf } from '../../../src/shared/values/passed-value.ts';
import type {
  CallAddress,
  EntryAddress,
  Payload,
  WireAddress,
} from '../../../src/shared/wire/address.ts';
import { connectionClosed, type Outcome, toWire } from '../../../src/shared/wire/errors-on-wire.ts';
import type { FollowAsk } from '../../../src/shared/wire/follow-asks.ts';
import type {
  ClassList,
  EntryEvent,
  ManageRequest,
  ManageResults,
  ObjectOutcome,
  ObjectRequest,
  ObjectsConnection,
  ObjectsService,
  ReferencePeer,
} from '../../../src/shared/wire/protocol.ts';
import { type Annotation, annotationOf } from '../../engine/log/annotation.ts';
import { type FollowedError, type FollowedObject, queuedAs } from '../host/followers.ts';
import type { ObjectHost } from '../host/object-host.ts';
import type { ObjectManager } from '../host/object-manager.ts';
import type { ObjectInstance } from '../instance/object-instance.ts';
import type { Handlers } from '../instance/user-object.ts';
import { type Cancellation, cancellationOf } from '../io/cancellation.ts';

/** Wraps an error of the caller's own code, which failed before the receiver was reached. */
export class CallerError {
  readonly error: unknown;

  constructor(error: unknown) {
    this.error = error;
  }
}

/** The target of a call: an object, a facet, or an entry point. */
export interface Receiver {
  /** The address of the object. Absent for an entry point, which has no instance that could be reset. */
  readonly address?: ObjectAddress;
  /** Runs the methods of an object that follows another one; absent for all other receivers. */
  readonly followed?: FollowedObject;
  /** Delivers an event. Commits that the event makes name the author. @throws CallerError, and the event's error */
  deliver<T>(event: (recipient: Recipient) => T | PromiseLike<T>, author?: Annotation): Promise<T>;
}

/** Answers a call: the instance of an object, or an entry point during one event. */
export interface Recipient {
  readonly context: ObjectInstance['context'];
  readonly object: object | undefined;
  readonly handlers: Pick<Handlers, 'fetch'>;
  /** The name of the recipient's class, for messages. */
  readonly address: Pick<ObjectAddress, 'className'>;
  /** Runs an event handler, such as `scheduled`, that no stub calls. Absent for an object. */
  run?(handler: EntryEvent, parameters: readonly unknown[]): Promise<unknown>;
}

/** Finds the entry points of a host by their addresses. */
export interface EntryReceivers {
  /** Finds an entry point. @throws UNKNOWN_CLASS */
  receiver(address: EntryAddress): Receiver;
}

/** Returns the party of a context, which is the same for all calls that the context answers. */
export type PartyOf = (context: PartyIo) => Party;

/** Watches a context; resolves to the reason when its instance ends. */
type Watch = (context: PartyIo) => Promise<{ readonly reason: unknown }>;

/**
 * Makes the watch of a caller. A watcher keeps the instance in memory, as an open socket does, because values that the
 * watcher has passed to the instance would be lost with it. `whenGone` calls back when the watcher is gone, which then
 * keeps nothing.
 */
function watchFor(whenGone: (told: () => void) => () => void): Watch {
  return (context) =>
    new Promise((resolve) => {
      let forget = () => {};
      const release = context.retain((reason) => {
        forget();
        resolve({ reason });
      });
      forget = whenGone(release);
    });
}

/** The other side of a call. */
interface Caller {
  readonly channel: ReferenceChannel;
  readonly watch: Watch;
  /**
   * The number of the last reset that the page was told of, by object. Absent for code in this thread, which learns of
   * a reset at once.
   */
  readonly told?: Map<string, number>;
  /** If true, calls of this caller that have not begun are not made. */
  hasGivenUp?: boolean;
}

export class ObjectCalls implements ObjectsService {
  readonly #host: ObjectHost;
  readonly #partyOf: PartyOf;
  readonly #manager: ObjectManager | undefined;
  /** References between callers in this thread and objects. */
  readonly #local = pairOfReferences();
  /** The receivers of stubs in this thread: each stub's address is checked and read once. */
  readonly #called = new WeakMap<CallAddress, Receiver>();
  readonly #authors = new Authors();

  readonly #entries: EntryReceivers | undefined;

  constructor(
    host: ObjectHost,
    partyOf: PartyOf,
    manager?: ObjectManager,
    entries?: EntryReceivers,
  ) {
    this.#host = host;
    this.#manager = manager;
    this.#partyOf = partyOf;
    this.#entries = entries;
  }

  /** Serves one page; `peer` answers for the references of the page. */
  connect(peer: ReferencePeer): ObjectsConnection {
    const references = new References(peer, passedValue);
    const watch = watchFor((told) => references.whenEnded(told));
    const caller: Caller = { channel: references, watch, told: new Map<string, number>() };
    return {
      classes: async () => ({ ok: this.#classes() }),
      call: (address, request) =>
        this.#withCancellation(request, (cancellation) =>
          this.#outcome(() => this.#receiver(address), request, caller, cancellation),
        ),
      manage: (request) => this.#manage(request),
      ask: (reference, request) => references.ask(reference, request),
      release: (numbers) => references.release(numbers),
      end: (reason, isGivenUp = false) => {
        caller.hasGivenUp = isGivenUp;
        references.end(reason);
      },
    };
  }

  /** Carries a call of code in this thread. */
  readonly carry = (call: OutgoingCall): Promise<Answer> =>
    this.carryTo(() => this.#receiverOf(call.address), call);

  /** Carries a call of code in this thread to a receiver, which is found only now. */
  async carryTo(
    find: () => Receiver,
    { bond, reach, request, signal, watcher = FREE, told }: OutgoingCall,
  ): Promise<Answer> {
    const [channel, callee] = this.#local;
    const cancellation = signal && cancellationOf(signal);
    const caller = { channel: callee, watch: watchFor((told) => watcher.onEnd(told)) };
    const send = (sent: ObjectRequest) => this.#outcome(find, sent, caller, cancellation);
    const payload = await bond.ask(channel, request, send, told, reach);
    return { payload, channel };
  }

  #receiverOf(stub: CallAddress): Receiver {
    let receiver = this.#called.get(stub);
    if (receiver === undefined) {
      receiver = this.#receiver(stub);
      this.#called.set(stub, receiver);
    }
    return receiver;
  }

  #receiver(wire: CallAddress): Receiver {
    if ('entry' in wire) {
      if (this.#entries !== undefined) return this.#entries.receiver(wire);
      throw storageError(
        'UNKNOWN_CLASS',
        'The worker has no entry points. Export them, and pass the exports of the module that serves: { exports }.',
      );
    }
    const address = fromWireAddress(wire);
    const followed = this.#host.followers.find(address);
    if (followed !== undefined) return this.#forecasting(followed);
    return { address, deliver: (event, by) => this.#host.deliver(address, event, by) };
  }

  /** Reads of an object that follows another one go to the current forecast. */
  #forecasting(followed: FollowedObject): Receiver {
    return {
      followed,
      deliver: async (event, by) => this.#host.deliver(await followed.forecast(), event, by),
    };
  }

  #withCancellation<T>(
    { flag }: ObjectRequest,
    work: (cancellation?: Cancellation) => Promise<T>,
  ): Promise<T> {
    if (flag === undefined) return work();
    const cancellation = this.#host.cancellations.begin(flag);
    return work(cancellation).finally(() => cancellation.end());
  }

  async #outcome(
    find: () => Receiver,
    request: ObjectRequest,
    caller: Caller,
    cancellation?: Cancellation,
  ): Promise<ObjectOutcome> {
    const { channel, told } = caller;
    const { resets } = this.#host;
    const { heard = Number.POSITIVE_INFINITY } = request;
    let { incarnation = resets.count } = request;
    const lent: unknown[] = [];
    let key = '';
    const lastReset = () => resets.after(key, incarnation);
    try {
      const receiver = find();
      if (receiver.address !== undefined) {
        key = addressKey(receiver.address);
        // Every call that a reset ends is answered in the turn of the reset, so the page is told before this call comes.
        if ((told?.get(key) ?? 0) > heard) incarnation = 0;
      }
      const before = lastReset();
      if (before !== undefined) throw before.reason;
      if (request.op === 'watch') throw await this.#endOf(receiver, caller.watch);
      if (receiver.followed !== undefined) {
        cancellation?.check();
        return await this.#followedOutcome(receiver, receiver.followed, request, channel);
      }
      const draft = await receiver.deliver((recipient) => {
        if (caller.hasGivenUp) throw connectionClosed('its page has given up');
        cancellation?.check();
        recipient.context.workFor(cancellation);
        return this.#perform(recipient, request, channel, lent);
      }, this.#authors.of(request));
      return { ok: channel.send(draft), incarnation };
    } catch (thrown) {
      const isOwn = thrown instanceof CallerError;
      const followed = queuedAs(thrown);
      const isWrapped = isOwn || followed !== undefined;
      const error = isWrapped ? (thrown as FollowedError).error : thrown;
      const last = lastReset();
      const isBroken = last !== undefined && last.reason === error;
      if (last !== undefined) told?.set(key, last.number);
      // As on workerd, a thrown primitive becomes an error, and a thrown object stays as it is.
      const isObject = typeof error === 'object' && error !== null;
      const wire = toWire(isObject ? error : new Error(String(error)));
      return {
        error: wire,
        incarnation,
        isBroken,
        ...(last && { reset: last.number }),
        ...(isOwn && { isOwn }),
        ...(followed !== undefined && { followed }),
      };
    } finally {
      lent.forEach(disposeOf);
    }
  }

  /**
   * Answers a call of an object that follows another one. Values are copied, because the instance of the object may
   * soon be replaced.
   */
  async #followedOutcome(
    receiver: Receiver,
    followed: FollowedObject,
    request: Exclude<ObjectRequest, { readonly op: 'watch' }>,
    channel: ReferenceChannel,
  ): Promise<ObjectOutcome> {
    const send = (value: unknown) =>
      channel.send(
        checkDraftSize(channel.draft(value, this.#partyOf(this.#host.outside), 'given')),
      );
    if (request.op === 'get') {
      const copy = await receiver.deliver(async ({ object }) => {
        mustBeCallable(object!);
        return serialize(await readEntry(object!, request.path));
      });
      return { ok: send(deserialize(copy)) };
    }
    const { method, payload } = methodCallIn(request);
    const { value, n } = await followed.call(method, plainArguments(method, payload));
    return { ok: send(value), ...(n !== null && { followed: n }) };
  }

  async #endOf(receiver: Receiver, watch: Watch): Promise<unknown> {
    // Return the promise in an object, so that the event does not wait for the promise.
    const { ended } = await receiver.deliver(({ context }) => ({ ended: watch(context) }));
    return (await ended).reason;
  }

  /** Performs a request on its recipient. Adds to `lent` the values to dispose of when the call has been answered. */
  async #perform(
    recipient: Recipient,
    request: Exclude<ObjectRequest, { readonly op: 'watch' }>,
    channel: ReferenceChannel,
    lent: unknown[],
  ): Promise<Draft> {
    const party = this.#partyOf(recipient.context);
    const { object } = recipient;
    if (object === undefined) {
      throw storageError('UNKNOWN_CLASS', 'An object of openStorage has no class, and no methods.');
    }
    if (request.op !== 'fetch') mustBeCallable(object);
    switch (request.op) {
      case 'call': {
        const parameters = parametersIn(channel.receive(request.payload, party));
        lent.push(parameters);
        const result = await callEntry(object, request.path, parameters);
        return checkDraftSize(channel.draft(result, party, 'given'));
      }
      case 'get':
        return checkDraftSize(channel.draft(await readEntry(object, request.path), party, 'given'));
      case 'fetch': {
        const received = channel.receive(request.payload, party) as Request;
        return channel.draft(await respond(recipient, withFixedHeaders(received)), party);
      }
      case 'run': {
        const { run } = recipient;
        if (run === undefined) {
          throw storageError('UNKNOWN_METHOD', `An object has no ${request.handler}() handler.`);
        }
        const parameters = parametersIn(channel.receive(request.payload, party));
        return channel.draft(await run(request.handler, parameters), party);
      }
    }
  }

  async #manage(request: ManageRequest): Promise<Outcome> {
    try {
      if (request.op === 'follow') {
        return { ok: serialize(await this.ask(request.address, request.ask)) };
      }
      if (this.#manager === undefined) {
        throw storageError(
          'INTERNAL',
          'This host has no manager, so its objects cannot be listed, deleted or driven.',
        );
      }
      return { ok: await perform(this.#manager, request) };
    } catch (error) {
      return { error: toWire(error) };
    }
  }

  /**
   * Passes a page's request to an object that follows another one. @throws INVALID_ARGUMENT if the object does not
   * follow one
   */
  async ask(address: WireAddress, ask: FollowAsk): Promise<unknown> {
    const followed = this.#host.followers.find(fromWireAddress(address));
    if (followed !== undefined) return followed.ask(ask);
    throw storageError(
      'INVALID_ARGUMENT',
      `${address.className} follows nothing: the worker has no { follow } for it.`,
    );
  }

  #classes(): ClassList {
    const { classes, followers } = this.#host;
    return {
      classes: [...classes.all].map(({ name, uniqueKey }) => ({
        name,
        uniqueKey,
        ...(followers.classNames.has(name) && { follows: true }),
      })),
      bindings: [...classes.bindings],
    };
  }
}

/**
 * Returns the method call in a request. Only such a request can also be run by the server.
 *
 * @throws INVALID_ARGUMENT for any other request: its writes would be in the forecast only
 */
function methodCallIn(request: Exclude<ObjectRequest, { readonly op: 'watch' | 'get' }>) {
  if (request.op === 'call') {
    const [method, ...rest] = request.path;
    if (method !== undefined && rest.length === 0) return { method, payload: request.payload };
  }
  const called = request.op === 'call' ? request.path.join('.') : request.op;
  throw storageError(
    'INVALID_ARGUMENT',
    `${called}(): of an object that follows, only the methods of its class are called. Give the class a method, or ask ` +
      'the object on the server.',
  );
}

/**
 * Returns the arguments as plain values.
 *
 * @throws INVALID_ARGUMENT for a function, a target or a stream, and for values that the server would refuse
 */
function plainArguments(method: string, payload: Payload): unknown[] {
  let refusal: Error | undefined;
  try {
    const passed = deserializeFromPeer(payload);
    refusal = refusalOf(passed);
    if (refusal === undefined) return parametersIn(passed.value);
  } catch (cause) {
    throw storageError(
      'INVALID_ARGUMENT',
      `${method}: the arguments of a call that follows are plain data, which can be kept and sent again; ` +
        'functions, stubs and streams cannot.',
      { cause },
    );
  }
  throw refusal;
}

/** Makes the author that commits of a call name. */
class Authors {
  #last = annotationOf({ kind: 'fetch' });

  of(request: ObjectRequest): Annotation | undefined {
    if (request.op === 'watch') return undefined;
    const kind = request.op === 'fetch' ? 'fetch' : 'call';
    const method = 'path' in request ? request.path.join('.') : undefined;
    const { client } = request;
    const { by } = this.#last;
    if (by.kind !== kind || by.connection !== client || by.method !== method) {
      const names = { ...(method && { method }), ...(client && { connection: client }) };
      this.#last = annotationOf({ kind, ...names });
    }
    return this.#last;
  }
}

async function perform(
  manager: ObjectManager,
  request: Exclude<ManageRequest, { readonly op: 'follow' }>,
): Promise<ManageResults[ManageRequest['op']]> {
  const { clock } = manager;
  switch (request.op) {
    case 'list':
      return (await manager.list(request.className, request)).map(
        ({ address, error, ...facts }) => ({
          address: toWireAddress(address),
          ...facts,
          error: error && toWire(error),
        }),
      );
    case 'delete':
      await manager.delete(fromWireAddress(request.address));
      return null;
    case 'runAlarm':
      return manager.runAlarm(fromWireAddress(request.address));
    case 'evict':
      await manager.evict(fromWireAddress(request.address));
      return null;
    case 'now':
      return clock.now();
    case 'runNextAlarm': {
      const ran = await clock.runNextAlarm();
      return ran === null ? null : { address: toWireAddress(ran.address), dueMs: ran.dueMs };
    }
    case 'resume':
      await clock.resume();
      return null;
    case 'set':
      await clock.set(request.timeMs);
      return null;
    case 'advance':
      await clock.advance(request.durationMs);
      return null;
  }
}

async function respond(
  { handlers, address: { className } }: Recipient,
  request: Request,
): Promise<Response> {
  if (handlers.fetch === undefined) {
    // The message begins with workerd's words.
    throw storageError(
      'UNKNOWN_METHOD',
      `Handler does not export a fetch() function. ${className} has none; give it one.`,
    );
  }
  const response: unknown = await handlers.fetch(request);
  if (response instanceof Response) {
    if (response.type === 'error') {
      throw new TypeError(`${className}.fetch() must not return Response.error(); throw an error.`);
    }
    if (socketOf(response) !== null && !isUpgrade(request)) {
      throw new TypeError(
        `${className}.fetch() returned a WebSocket for a request without the header "Upgrade: websocket".`,
      );
    }
    return response;
  }
  throw new TypeError(`${className}.fetch() must return a Response, not ${typeof response}.`);
}

function isUpgrade(request: Request): boolean {
  return request.headers.get('upgrade')?.toLowerCase() === 'websocket';
}
