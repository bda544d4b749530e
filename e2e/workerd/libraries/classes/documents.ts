// Uses y-partyserver's base class: a shared Yjs document, which its sockets edit and the storage keeps.

import type { Connection } from 'partyserver';
import { YServer } from 'y-partyserver';
import { applyUpdate, Doc, encodeStateAsUpdate } from 'yjs';

export class Documents extends YServer {
  static override options = { hibernate: true };
  static override callbackOptions = { debounceWait: 10, debounceMaxWait: 50 };

  override async onLoad(): Promise<void> {
    const saved = this.ctx.storage.kv.get<Uint8Array>('document');
    if (saved !== undefined) applyUpdate(this.document, saved);
  }

  override async onSave(): Promise<void> {
    this.ctx.storage.kv.put('document', encodeStateAsUpdate(this.document));
  }

  override onCustomMessage(connection: Connection, message: string): void {
    this.sendCustomMessage(connection, `heard ${message}`);
    this.broadcastCustomMessage(`somebody said ${message}`, connection);
  }

  override async onRequest({ url }: Request): Promise<Response> {
    if (url.endsWith('?reset')) this.ctx.abort('asked for');
    const saved = new Doc();
    const bytes = await this.ctx.storage.get<Uint8Array>('document');
    if (bytes !== undefined) applyUpdate(saved, bytes);
    return Response.json({
      here: this.document.getText('text').toString(),
      saved: saved.getText('text').toString(),
      marks: this.document.getMap('marks').toJSON(),
      awareness: [...this.document.awareness.getStates().keys()].sort(),
      connections: [...this.getConnections()].length,
    });
  }
}
