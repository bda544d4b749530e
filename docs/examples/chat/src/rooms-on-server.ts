// Rooms on the server that this page is from, which knows by a cookie who enters.

export async function openSocket(room: string, lastId: number): Promise<WebSocket> {
  const path = `/room/${encodeURIComponent(room)}`;
  const socket = new WebSocket(`${path}?after=${lastId}`);
  const isOpen = await new Promise<boolean>((resolve) => {
    socket.addEventListener('open', () => resolve(true));
    socket.addEventListener('error', () => resolve(false));
  });
  if (isOpen) return socket;
  // A browser tells no page why a socket was refused. With POST, it says from which page the request is.
  const { status } = await fetch(path, { method: 'POST' });
  throw new Error(status === 401 ? 'Signed out: sign in again' : 'The server does not answer.');
}
