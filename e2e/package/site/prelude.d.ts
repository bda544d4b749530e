// The parts that the text around a block of code explains and the block does not repeat: names of the
// reader's own app.

import type Client from 'cloudflare';
import type * as React from 'react';
import type { CallLog as Calls } from '../../../packages/management/index.ts';
import type {
  connect as connectClasses,
  DurableObjectNamespace,
  RemoteStorage as Handle,
  DurableObjectId as Id,
  StorageMoment as Moment,
  openStorage as open,
  RemoteObjects,
  StorageCommit,
} from '../../../src/index.ts';
import type {
  DurableObject,
  serve as serveClasses,
} from '../../../worker/start/entries/objects.ts';

declare global {
  class Room extends DurableObject {
    messages(limit: number): string[];
    loadFromServer(): Promise<void>;
  }
  class ListObject extends DurableObject {
    subscribe(listener: (item: string) => void): void;
  }
  class VisitsCounter extends DurableObject {
    add(by: number): Promise<number>;
    count(): number;
  }
  type Classes = { Room: Room; Counter: VisitsCounter };
  type Note = { id: number; body: string };
  type RemoteStorage = Handle;
  type StorageMoment = Moment;
  type DurableObjectId = Id;
  type CallLog = Calls;

  const connect: typeof connectClasses;
  const openStorage: typeof open;
  const serve: typeof serveClasses;
  const start: () => Worker;
  const storage: Handle;
  const objects: RemoteObjects<Classes>;
  const env: {
    readonly Counter: DurableObjectNamespace<VisitsCounter>;
    readonly List: DurableObjectNamespace<ListObject>;
  };
  const commit: StorageCommit;
  const id: number;
  const slowQuery: string;

  function render(rows: unknown): void;
  function show(...what: unknown[]): void;
  function showBanner(text: string, reload: () => void): void;
  function suggest(text: string): void;
  function warn(text: string): void;
  function log(text: string): void;

  const Suspense: typeof React.Suspense;
  class ErrorBoundary extends React.Component<
    React.PropsWithChildren<{ fallback: React.ReactNode }>
  > {}

  const Cloudflare: typeof Client;
  function clientOn(date: string): Client;
  function listsRecords(client: Client): Promise<void>;
  const base: typeof import('@playwright/test').test;
}
