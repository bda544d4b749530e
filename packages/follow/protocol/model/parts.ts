// Numbers the parts of worlds (devices, server, wires and the rest) and keeps one instance of each, so that two worlds
// are equal if the numbers of their parts are.
//
// A part is identified by its JSON, or by the numbers of its own parts. The order of the server's clients is ignored,
// because there are only two: the next in turn after one is always the other.
//
// Invariant: equal parts get the same instance, which is never changed.

import type { Cloud, Storage } from './cloud.ts';
import type { Device } from './device.ts';
import type { Wire, World } from './world.ts';

/** The numbers that identify a world: those of its two devices, its server, its wires, and the rest. */
export type WorldNumbers = readonly [number, number, number, number, number];

type OtherState = Pick<World, 'late' | 'faults' | 'ghost' | 'hostile'>;

export class Parts {
  readonly #numbers = new Map<string, number>();
  /** The instances by their numbers. */
  readonly #instances: object[] = [];
  readonly #numberByInstance = new Map<object, number>();

  /** Returns the instance that is kept for all devices equal to this one. */
  device(device: Device): Device {
    return this.#instances[this.#numberOfDevice(device)] as Device;
  }

  storage(storage: Storage): Storage {
    return this.#instances[this.#numberOfStorage(storage)] as Storage;
  }

  cloud(cloud: Cloud): Cloud {
    return this.#instances[this.#numberOfCloud(cloud)] as Cloud;
  }

  /** Returns the kept instance of any plain data that JSON can represent. */
  plain<T extends object>(part: T): T {
    return this.#instances[this.#numberOfPart(part)] as T;
  }

  /** Returns the number of a part of plain data. */
  numberOf(part: object): number {
    return this.#numberOfPart(part);
  }

  numbersOf({ devices: [a, b], cloud, wires, ...rest }: World): WorldNumbers {
    return [
      this.#numberOfDevice(a),
      this.#numberOfDevice(b),
      this.#numberOfCloud(cloud),
      this.#numberOfWires(wires),
      this.#numberOfOtherState(rest),
    ];
  }

  worldOf([a, b, cloud, wires, rest]: WorldNumbers): World {
    const { late, faults, ghost, hostile } = this.#instances[rest] as OtherState;
    return {
      devices: [this.#instances[a] as Device, this.#instances[b] as Device],
      cloud: this.#instances[cloud] as Cloud,
      wires: this.#instances[wires] as readonly Wire[],
      late,
      faults,
      ghost,
      hostile,
    };
  }

  #numberOfDevice(device: Device): number {
    return this.#numberOfPart(device, 'device', ({ core, base, queue, staged, forecast, app }) => {
      const parts = [core.base, core.queue, core.link, ...base, ...queue, forecast, app];
      const names = parts.map((part) => this.#nameOfPart<object>(part));
      const { client, maybeSentTo, isForecasting } = core;
      const copies = JSON.stringify([core.copy, staged]);
      return `${names.join('')}${base.length} ${copies} ${maybeSentTo} ${isForecasting} ${client}`;
    });
  }

  #numberOfCloud(cloud: Cloud): number {
    return this.#numberOfPart(cloud, 'cloud', ({ core, storage, betweenTurns, life }) => {
      const { clients, connections } = core;
      const server = [
        this.#textOfMap(clients),
        this.#textOfMap(connections),
        nameOf(this.#numberOfStorage(storage)),
      ];
      return `${server.join('|')}${JSON.stringify([...betweenTurns].sort())}${life}`;
    });
  }

  #numberOfStorage(storage: Storage): number {
    return this.#numberOfPart(
      storage,
      'storage',
      ({ notes, clients }) => this.#nameOfPart(notes) + this.#textOfMap(clients),
    );
  }

  #numberOfWires(wires: readonly Wire[]): number {
    return this.#numberOfPart(wires, 'wires', () => {
      let names = '';
      for (const wire of wires) names += nameOf(this.#numberOfWire(wire));
      return names;
    });
  }

  #numberOfWire(wire: Wire): number {
    return this.#numberOfPart(
      wire,
      'wire',
      ({ id, up, down, isCut, isOpenAtDevice, isOpenAtServer, isRepeated }) => {
        let messages = '';
        for (const message of up) messages += this.#nameOfPart(message);
        for (const message of down) messages += this.#nameOfPart(message);
        const flags =
          Number(isCut) +
          2 * Number(isOpenAtDevice) +
          4 * Number(isOpenAtServer) +
          8 * Number(isRepeated);
        return `${messages}${id},${up.length},${flags}`;
      },
    );
  }

  #numberOfOtherState({ late, faults, ghost, hostile }: OtherState): number {
    const { notesBeforeRestore, commits, copied } = ghost;
    const copiedName = () =>
      copied === null ? '' : `${copied.client}${nameOf(this.#numberOfDevice(copied.device))}`;
    const history = this.#numberOfPart(ghost, 'ghost', () =>
      [
        copiedName(),
        this.#nameOfPart(notesBeforeRestore),
        ...commits.map((commit) => nameOf(this.#numberOfStorage(commit))),
      ].join(''),
    );
    const ends = hostile.length === 0 ? '' : this.#nameOfPart(hostile);
    const text = `rest${late === null ? '' : this.#nameOfPart(late)} ${this.#nameOfPart(faults)}${nameOf(history)}${ends}`;
    return this.#numberOfText(text) ?? this.#add(text, { late, faults, ghost, hostile });
  }

  #textOfMap(map: ReadonlyMap<string | number, object>): string {
    const entries = [...map].sort(([a], [b]) => (a < b ? -1 : 1));
    return entries.map(([key, value]) => `${key}${this.#nameOfPart(value)}`).join('');
  }

  #nameOfPart<T extends object>(part: T): string {
    return nameOf(this.#numberOfPart(part));
  }

  #numberOfPart<T extends object>(
    part: T,
    kind = '',
    textOf: (part: T) => string = JSON.stringify,
  ): number {
    const known = this.#numberByInstance.get(part);
    if (known !== undefined) return known;
    const text = kind + textOf(part);
    return this.#numberOfText(text) ?? this.#add(text, part);
  }

  #numberOfText(text: string): number | undefined {
    return this.#numbers.get(text);
  }

  #add(text: string, part: object): number {
    const number = this.#instances.push(part) - 1;
    this.#numbers.set(text, number);
    this.#numberByInstance.set(part, number);
    return number;
  }
}

/** Writes a number as two characters, so that keys made of numbers stay short. */
function nameOf(number: number): string {
  return String.fromCharCode(number >>> 16, number & 0xffff);
}
