// Simulates the network of the devices page: it carries the messages between the devices' workers and the server's, and
// has a switch for each device.
//
// Invariant: only the tab that holds the lock simulates the network, and only its switches have an effect.

import { signal } from '@preact/signals';
import { NETWORK, type NetworkMessage } from './network-socket.ts';

const PROTOCOL = 'ctx-storage-follow';

/** The end of a connection that the server holds. */
interface ServerSocket extends EventTarget {
  accept(): void;
  send(data: ArrayBuffer | Uint8Array | string): void;
  close(code?: number): void;
}

interface Server {
  fetch(url: string, init: RequestInit): Promise<{ readonly webSocket?: unknown }>;
}

/** The devices in aeroplane mode. */
export const offline = signal<ReadonlySet<string>>(new Set());

interface Open {
  readonly device: string;
  readonly socket: ServerSocket;
}

const open = new Map<string, Open>();

/** Simulates the network as soon as no other tab does. `server` returns the server's object of a name. */
export function playNetwork(server: (name: string) => Server): void {
  const play = () => {
    const channel = new BroadcastChannel(NETWORK);
    const tell = (id: string, content: NetworkMessage['content']) => {
      const message: NetworkMessage = { id, toDevice: true, content };
      channel.postMessage(message);
    };
    channel.addEventListener('message', ({ data }: MessageEvent<NetworkMessage>) => {
      const { id, toDevice, content } = data;
      if (toDevice) return;
      if (content.kind === 'open') {
        const { device, name } = content;
        connect(id, device, server(name), tell).catch(() => tell(id, { kind: 'closed' }));
      } else if (content.kind === 'data') open.get(id)?.socket.send(content.data);
      else end(id);
    });
    return new Promise<never>(() => {}); // Hold the lock as long as the tab is open.
  };
  void navigator.locks.request(NETWORK, play);
}

/** Puts a device into aeroplane mode, or takes it out. */
export function setOffline(device: string, isOffline: boolean): void {
  const devices = new Set(offline.value);
  if (isOffline) devices.add(device);
  else devices.delete(device);
  offline.value = devices;
  if (!isOffline) return;
  for (const [id, connection] of open) if (connection.device === device) end(id);
}

async function connect(
  id: string,
  device: string,
  server: Server,
  tell: (id: string, content: NetworkMessage['content']) => void,
): Promise<void> {
  if (offline.value.has(device)) throw new Error('The device is in aeroplane mode.');
  const headers = { Upgrade: 'websocket', 'Sec-WebSocket-Protocol': PROTOCOL };
  const response = await server.fetch('https://server/', { headers });
  const socket = response.webSocket as ServerSocket | undefined;
  if (!socket) throw new Error('The server did not accept the WebSocket.');
  socket.addEventListener('message', (event) => {
    const { data } = event as MessageEvent<ArrayBuffer | string>;
    tell(id, { kind: 'data', data: typeof data === 'string' ? data : new Uint8Array(data) });
  });
  socket.addEventListener('close', () => {
    open.delete(id);
    tell(id, { kind: 'closed' });
  });
  socket.accept();
  if (offline.value.has(device)) return socket.close(1000);
  open.set(id, { device, socket });
  tell(id, { kind: 'opened' });
}

function end(id: string): void {
  open.get(id)?.socket.close(1000);
  open.delete(id);
}
