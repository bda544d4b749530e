// Notes, in a worker, each question for the free space: `in a write` if it comes before the code that writes to a file has
// ended. A page hears it on the channel `questions`. Patches the browser's interfaces.

interface Writing {
  write(bytes: Uint8Array, options?: object): number;
}

export function noteQuestions(): void {
  const channel = new BroadcastChannel('questions');
  let hasAsked = false;
  let hasWritten = false;
  const { prototype } = (
    globalThis as unknown as { FileSystemSyncAccessHandle: { prototype: Writing } }
  ).FileSystemSyncAccessHandle;
  const { write } = prototype;
  prototype.write = function (this: Writing, ...parameters) {
    hasWritten = true;
    queueMicrotask(note);
    return write.apply(this, parameters);
  };

  const { estimate } = StorageManager.prototype;
  StorageManager.prototype.estimate = function (this: StorageManager) {
    hasAsked = true;
    queueMicrotask(note);
    return estimate.call(this);
  };

  /** Tells the page where the worker has asked, once the running code has ended. */
  function note(): void {
    if (hasAsked) channel.postMessage(hasWritten ? 'in a write' : 'apart');
    hasAsked = false;
    hasWritten = false;
  }
}
