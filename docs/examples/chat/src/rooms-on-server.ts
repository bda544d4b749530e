// Rooms on the server that this page is from.

export function openSocket(room: string, query: URLSearchParams): Promise<WebSocket> {
  const socket = new WebSocket(`/room/${encodeURIComponent(room)}?${query}`);
  return new Promise((resolve, reject) => {
    socket.addEventListener('open', () => resolve(socket));
    socket.addEventListener('error', () => reject(new Error('The server does not answer.')));
  });
}
