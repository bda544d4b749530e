// Records each call that clients make, with its outcome as far as its caller knows it.
//
// Invariant: if a host is lost, its callers get CONNECTION_CLOSED, whatever the host would have answered.

import { isStorageError, storageError } from '@ctx-storage/core/errors';
import type { Attempt } from './scope.ts';
import { textOf } from './script.ts';
import type { World } from './world.ts';

/** One attempt to call a method. */
export interface ClientCall {
  /** The object, such as `Account/alice`, or with the beginning of its id if it has no name. */
  readonly object: string;
  readonly method: string;
  readonly args: readonly unknown[];
  /** The number of the step, which all attempts of one call have in common. */
  readonly step: number;
  readonly attempt: number;
  /** The values of `unique()` that the code of the call has drawn. */
  readonly keys: readonly string[];
  /** The position of the call's beginning in the order of all beginnings and ends. */
  readonly begin: number;
  end: number | undefined;
  outcome: CallOutcome;
}

/**
 * The outcome of a call. `unknown` means that the caller was not answered, so the call may or may not have been
 * performed.
 */
export type CallOutcome =
  | { readonly kind: 'pending' | 'unknown' }
  | { readonly kind: 'answered'; readonly value: unknown }
  | { readonly kind: 'failed'; readonly error: unknown };

/** The host that a call reaches. */
interface ReachedHost {
  readonly env: Record<string, object>;
  readonly isLost: boolean;
}

export class ClientCalls {
  readonly made: ClientCall[] = [];
  /** If true, the next answer does not reach its caller. */
  losesReply = false;
  lostReplies = 0;
  /** The sockets that clients have opened. */
  readonly sockets: object[] = [];
  readonly #world: World;
  readonly #host: () => ReachedHost;
  /** Errors with which calls have rejected, as opposed to errors of the caller's own code. */
  readonly #errorsOfCalls = new WeakSet<object>();
  /** The original stub for each stub that records its calls. */
  readonly #stubs = new WeakMap<object, object>();
  #order = 0;

  constructor(world: World, host: () => ReachedHost) {
    this.#world = world;
    this.#host = host;
  }

  /** Returns whether a call has rejected with this error. */
  isErrorOfCall(error: unknown): boolean {
    return typeof error === 'object' && error !== null && this.#errorsOfCalls.has(error);
  }

  /** Makes the `env` for clients. Its stubs record their calls for the present attempt. */
  envFor(attempt: () => Attempt | undefined): Record<string, object> {
    return new Proxy(
      {},
      {
        get: (_, name) => {
          if (typeof name === 'symbol' || name === 'then') return undefined;
          return this.#namespace(name, this.#host(), attempt);
        },
      },
    );
  }

  #namespace(name: string, host: ReachedHost, attempt: () => Attempt | undefined): object {
    return new Proxy(host.env[name]!, {
      get: (namespace, member) => {
        const value = Reflect.get(namespace, member, namespace) as unknown;
        if (typeof value !== 'function') return value;
        return (...args: unknown[]) => {
          const result = Reflect.apply(value, namespace, args) as object;
          if (member !== 'get' && member !== 'getByName') return result;
          return this.#stub(name, result, host, attempt);
        };
      },
    });
  }

  #stub(
    className: string,
    stub: object,
    host: ReachedHost,
    attempt: () => Attempt | undefined,
  ): object {
    const { id } = stub as { id: { name?: string } };
    const object = `${className}/${id.name ?? String(id).slice(0, 8)}`;
    // The proxy does not wrap the stub itself, because some members of a stub must be read unchanged.
    const recorded = new Proxy(
      {},
      {
        get: (_, method) => {
          const member = Reflect.get(stub, method, stub) as unknown;
          if (typeof method === 'symbol' || typeof member !== 'function') return member;
          return new Proxy(member, {
            apply: (callee, _self, given: unknown[]) => {
              const of = attempt();
              const args = given.map((arg) => this.#stubs.get(arg as object) ?? arg);
              const begin = () => Reflect.apply(callee as () => unknown, stub, args);
              if (of === undefined) return begin();
              return this.#record(host, { object, method, args }, of, begin);
            },
          });
        },
      },
    );
    this.#stubs.set(recorded, stub);
    return recorded;
  }

  #record(
    host: ReachedHost,
    made: Pick<ClientCall, 'object' | 'method' | 'args'>,
    of: Attempt,
    begin: () => unknown,
  ): unknown {
    const call: ClientCall = {
      ...made,
      ...of,
      begin: this.#order++,
      end: undefined,
      outcome: { kind: 'pending' },
    };
    this.made.push(call);
    const text = textOfCall(call);
    this.#world.note(`${text} is called`);
    const end = (outcome: CallOutcome) => {
      call.end = this.#order++;
      call.outcome = outcome;
      this.#world.note(`${text} ${textOfOutcome(outcome)}`);
    };
    const lose = (fact: string) => {
      end({ kind: 'unknown' });
      return this.#bring(storageError('CONNECTION_CLOSED', fact));
    };
    const answered = (value: unknown) => {
      if (host.isLost) throw lose('The simulation has ended the host.');
      if (this.losesReply) {
        this.losesReply = false;
        this.lostReplies += 1;
        throw lose('The simulation has lost the reply.');
      }
      end({ kind: 'answered', value });
      if (value instanceof Response && 'webSocket' in value && value.webSocket) {
        this.sockets.push(value.webSocket);
      }
      return value;
    };
    const failed = (error: unknown) => {
      if (host.isLost) throw lose('The simulation has ended the host.');
      // The event may have run before its object was reset.
      const isUnknown = isStorageError(error) && UNCERTAIN_ERROR_CODES.has(error.code);
      end(isUnknown ? { kind: 'unknown' } : { kind: 'failed', error });
      throw this.#bring(error);
    };
    const result = begin();
    if (!isThenable(result)) return result;
    const outcome = Promise.resolve(result).then(answered, failed);
    outcome.catch(() => {}); // The code that waits for the outcome gets the error.
    return new Proxy(result, {
      get: (target, name) => {
        const own = name === 'then' || name === 'catch' || name === 'finally';
        const of: object = own ? outcome : target;
        const value = Reflect.get(of, name, of) as unknown;
        return typeof value === 'function' && own ? value.bind(outcome) : value;
      },
    });
  }

  #bring(error: unknown): unknown {
    if (typeof error === 'object' && error !== null) this.#errorsOfCalls.add(error);
    return error;
  }
}

/** Codes of errors after which a call may have been performed. */
const UNCERTAIN_ERROR_CODES: ReadonlySet<string> = new Set([
  'OBJECT_RESET',
  'CONNECTION_CLOSED',
  'IO',
  'DISK_FULL',
  'TRANSACTION_TIMEOUT',
]);

export function textOfCall({
  object,
  method,
  args,
}: Pick<ClientCall, 'object' | 'method' | 'args'>): string {
  return `${object}.${method}(${args.map(textOf).join(', ')})`;
}

export function textOfOutcome(outcome: CallOutcome): string {
  switch (outcome.kind) {
    case 'pending':
      return '· not answered';
    case 'unknown':
      return '· its caller hears nothing';
    case 'answered':
      return outcome.value === undefined ? '· done' : `→ ${textOf(outcome.value)}`;
    case 'failed':
      return `· fails: ${textOf(outcome.error)}`;
  }
}

function isThenable(value: unknown): value is object {
  const isObject = (typeof value === 'object' && value !== null) || typeof value === 'function';
  return isObject && typeof Reflect.get(value as object, 'then') === 'function';
}
