// wa-sqlite has no types for its examples.

declare module '@journeyapps/wa-sqlite/src/examples/*' {
  interface VFS {
    create(name: string, module: unknown): Promise<SQLiteVFS>;
  }
  export const AccessHandlePoolVFS: VFS;
  export const OPFSCoopSyncVFS: VFS;
  export const OPFSWriteAheadVFS: VFS;
}
