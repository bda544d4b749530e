// The base classes of object code.
//
// A module of its own, with next to nothing below it, so that a file of classes is small wherever it is bundled.

import { checkState } from '../../../src/shared/contract/constructed-state.ts';
import type { DurableObjectState } from '../../../src/shared/contract/object.ts';
import { CALLABLE, ENTRYPOINT } from '../../../src/shared/contract/rpc-class.ts';
import type { ExecutionContext } from '../../../src/shared/contract/service.ts';

/** `ctx` as the types of this package or of another runtime describe it. */
interface AnyState {
  readonly id: { toString(): string };
  readonly storage: object;
  waitUntil(work: Promise<unknown>): void;
}

/** The same, of an entry point. */
interface AnyExecution {
  waitUntil(work: Promise<unknown>): void;
}

/** Base of a Durable Object class; keeps `ctx` and `env` as the constructor received them. */
export class DurableObject<Env = unknown, Props = unknown> {
  protected readonly ctx: DurableObjectState<Props>;
  protected readonly env: Env;

  /** @throws TypeError if a host constructs the object and `ctx` is a proxy or copy of its own */
  constructor(ctx: AnyState, env: Env) {
    checkState(ctx);
    this.ctx = ctx as DurableObjectState<Props>;
    this.env = env;
  }

  static {
    Object.defineProperty(DurableObject.prototype, CALLABLE, { value: true });
  }
}

/** Base of entry points, constructed again for each event; keeps `ctx` and `env` as the constructor received them. */
export class WorkerEntrypoint<Env = unknown, Props = unknown> {
  protected readonly ctx: ExecutionContext<Props>;
  protected readonly env: Env;

  constructor(ctx: AnyExecution, env: Env) {
    this.ctx = ctx as ExecutionContext<Props>;
    this.env = env;
  }

  static {
    Object.defineProperty(WorkerEntrypoint.prototype, ENTRYPOINT, { value: 'worker' });
  }
}

/** Base of workflows. It exists so that a file with one can be imported unchanged; nothing here runs it. */
export class WorkflowEntrypoint<Env = unknown, Props = unknown> {
  protected readonly ctx: ExecutionContext<Props>;
  protected readonly env: Env;

  constructor(ctx: AnyExecution, env: Env) {
    this.ctx = ctx as ExecutionContext<Props>;
    this.env = env;
  }

  static {
    Object.defineProperty(WorkflowEntrypoint.prototype, ENTRYPOINT, { value: 'workflow' });
  }
}
