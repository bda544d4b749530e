// Counts the synchronous access handles that a worker has open.

interface Handle {
  close(): void;
}

export interface HandleCount {
  open: number;
  /** At once. */
  most: number;
}

/** Counts handles that are opened from now on. */
export function countHandles(): HandleCount {
  const files = FileSystemFileHandle.prototype as unknown as {
    createSyncAccessHandle(): Promise<Handle>;
  };
  const create = files.createSyncAccessHandle;
  const count = { open: 0, most: 0 };
  files.createSyncAccessHandle = async function counted(
    this: FileSystemFileHandle,
  ): Promise<Handle> {
    const handle = await create.call(this as never);
    count.open += 1;
    count.most = Math.max(count.most, count.open);
    const close = handle.close.bind(handle);
    handle.close = () => {
      close();
      count.open -= 1;
    };
    return handle;
  };
  return count;
}
