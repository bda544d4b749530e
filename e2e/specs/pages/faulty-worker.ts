// The worker of objects-worker, in a browser whose IndexedDB fails as a message says, or the address (`?silent`):
//
// `silent`: no event of a request or transaction is delivered any more.
// `heard`: events of requests and transactions are delivered again.
// `close`: the browser closes every connection, as it does when its database process ends.

// An import would be left out of a build, because package.json says that files have no side effects.
export * from './objects-worker.ts';

export type Fault = 'silent' | 'heard' | 'close';

/** Where pages name the fault. */
export const FAULT_CHANNEL = 'faults of IndexedDB';

let isSilent = self.location.search === '?silent';
const connections = new Set<IDBDatabase>();

new BroadcastChannel(FAULT_CHANNEL).onmessage = ({ data }: MessageEvent<Fault>) => {
  if (data !== 'close') isSilent = data === 'silent';
  if (data !== 'close') return;
  for (const connection of connections) {
    connection.close();
    connection.dispatchEvent(new Event('close'));
  }
  connections.clear();
};

const { addEventListener } = EventTarget.prototype;

function hear(this: EventTarget, type: string, listener: (event: Event) => void): void {
  addEventListener.call(this, type, (event) => {
    if (isSilent) return;
    const { result } = event.target as Partial<IDBOpenDBRequest>;
    if (type === 'success' && result instanceof IDBDatabase) connections.add(result);
    listener.call(this, event);
  });
}

for (const { prototype } of [IDBRequest, IDBTransaction])
  prototype.addEventListener = hear as never;

// While the browser is silent, `open` opens a database of another name. The real one would be made without its stores,
// because the listener that makes them is never called, and a later `open` would find it so.
const { open } = IDBFactory.prototype;
IDBFactory.prototype.open = function (name, version) {
  return open.call(this, isSilent ? `${name}, never opened` : name, version);
};
