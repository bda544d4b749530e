// The tools that the code of a test gets: for its calls, and for its invariants.

import type {
  DurableObjectNamespace,
  DurableObjectStub,
  NamespacesOf,
} from '@ctx-storage/core/object';
import type { ClientCall } from './client-calls.ts';

/** Tools for calls: the objects, and random values from the seed. A repeated call draws the same values again. */
export interface Tools<Table extends object> {
  /** The namespaces of the classes. Their stubs record each call. */
  readonly env: NamespacesOf<Table>;
  /** Returns a whole number from `least` to `most`. */
  readonly int: (least: number, most: number) => number;
  readonly pick: <T>(items: readonly T[]) => T;
  /** Returns true in this fraction of the draws, from 0 to 1. */
  readonly chance: (fraction: number) => boolean;
  /** Returns a text that no other call has, for `exactlyOnce`. */
  readonly unique: () => string;
}

/** Tools for invariants: the objects at rest, and the calls that clients have made. */
export interface InvariantTools<Table extends object> {
  /** An object that all checks of one run have in common. */
  readonly run: object;
  readonly env: NamespacesOf<Table>;
  /** Returns stubs of all objects of a class that the run has used, in the order of their names. */
  readonly each: <Name extends keyof Table & string>(className: Name) => StubOf<Table, Name>[];
  /** The calls of clients so far, with their outcomes as far as the callers know them. */
  readonly calls: readonly ClientCall[];
  /** Returns the alarms that are set, and how long ago each was due, in milliseconds. */
  readonly alarms: () => Promise<readonly { object: string; dueMs: number; lateMs: number }[]>;
  /** The objects whose alarm has failed in its last retry. */
  readonly givenUpAlarms: readonly string[];
}

/** Checks the objects at rest. @throws the error with which the run fails */
export type Invariant<Table extends object> = (tools: InvariantTools<Table>) => unknown;

export type StubOf<Table extends object, Name extends keyof Table> =
  NamespacesOf<Table>[Name] extends DurableObjectNamespace<infer Type>
    ? DurableObjectStub<Type>
    : never;

// The tools without the types of the classes, which the runner does not know.
export type AnyTools = Tools<Record<string, object>>;
export type Check = Invariant<Record<string, object>>;
