// Published classes with a method each that stores a key, for the simulator: a text that was answered must stay.

import { DurableObject } from 'cloudflare:workers';
import { Actor } from '@cloudflare/actors';
import { type Connection, type ConnectionContext, Server } from 'partyserver';
import { createMergeableStore } from 'tinybase';
import { createDurableObjectStoragePersister } from 'tinybase/persisters/persister-durable-object-storage';

/** A store of TinyBase, which is in memory and saves its changes. */
export class KeptNotes extends DurableObject {
  readonly #store = createMergeableStore('server');
  readonly #persister;

  constructor(ctx: DurableObjectState, env: object) {
    super(ctx, env);
    this.#persister = createDurableObjectStoragePersister(this.#store, ctx.storage, 'notes/');
    ctx.blockConcurrencyWhile(async () => {
      await this.#persister.load();
    });
  }

  async add(key: string): Promise<void> {
    this.#store.setCell('notes', key, 'is', true);
    await this.#persister.save();
  }

  async keys(): Promise<string[]> {
    return this.#store.getRowIds('notes');
  }
}

/** A server of PartyServer that stores each message. */
export class KeptParty extends Server {
  static override options = { hibernate: true };

  override async onConnect(connection: Connection, { request }: ConnectionContext): Promise<void> {
    connection.send(`welcome to ${this.name}, ${new URL(request.url).searchParams.get('user')}`);
  }

  override async onMessage(connection: Connection, message: string): Promise<void> {
    await this.ctx.storage.put(`message ${message}`, connection.id);
    connection.send(`stored ${message}`);
  }

  async keys(): Promise<string[]> {
    const messages = await this.ctx.storage.list({ prefix: 'message ' });
    return [...messages.keys()].map((key) => key.slice('message '.length));
  }
}

/** Jobs of Cloudflare's Actors, which one alarm runs. */
export class KeptJobs extends Actor<Cloudflare.Env> {
  async add(key: string): Promise<void> {
    await this.alarms.schedule(1, 'done', [key]);
  }

  async done(key: string): Promise<void> {
    this.ctx.storage.kv.put(`done ${key}`, true);
  }

  async keys(): Promise<string[]> {
    const done = [...this.ctx.storage.kv.list({ prefix: 'done ' })];
    return done.map(([key]) => key.slice('done '.length));
  }
}
