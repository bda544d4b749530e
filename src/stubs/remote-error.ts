// Errors that were thrown on the other side, as the caller gets them.

/**
 * Marks an error of the other side, and appends the frames of the code that waits for it to its stack, as
 * workerd does. Must be called by that code. A value that is not an object stays as it is.
 */
export function remoteError(thrown: unknown): unknown {
  if (typeof thrown !== 'object' || thrown === null) return thrown;
  define(thrown, 'remote', true);
  const { stack }: { stack?: unknown } = thrown;
  const frames = asyncFrames();
  if (typeof stack === 'string' && frames.length > 0) {
    define(thrown, 'stack', [stack, ...frames].join('\n'));
  }
  return thrown;
}

/** The async functions that wait for the running one. Only V8 follows them. */
function asyncFrames(): string[] {
  const lines = new Error().stack?.split('\n') ?? [];
  return lines.filter((line) => /^\s+at async /.test(line));
}

function define(target: object, name: string, value: unknown): void {
  Object.defineProperty(target, name, { value, writable: true, configurable: true });
}
