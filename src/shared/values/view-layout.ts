// Finds the position of a view in its buffer, even if the buffer can be resized.
//
// A view of a resizable buffer has a fixed length, or its length follows the buffer's; no accessor tells which. A resize
// reveals it: the buffer is shortened into the view's last element (or lengthened if the view is empty), and then restored
// with its content. No code of the program runs in between.

import * as slots from './slots.ts';
import { VIEW_CLASSES, type ViewClass } from './wire.ts';

export interface ViewLayout {
  readonly tag: number;
  readonly byteOffset: number;
  readonly byteLength: number;
  readonly lengthTracking: boolean;
  /** True if the buffer can be resized. */
  readonly resizable: boolean;
}

interface Accessors {
  readonly buffer: (view: object) => ArrayBufferLike;
  readonly byteOffset: (view: object) => number;
  readonly byteLength: (view: object) => number;
  /** Reads the view. Throws if the view lies outside its buffer. */
  readonly touch: (view: object) => unknown;
}

const typedArrayPrototype = Object.getPrototypeOf(Uint8Array.prototype);
const TYPED_ARRAY: Accessors = {
  ...accessors(typedArrayPrototype),
  touch: slots.method(typedArrayPrototype.values),
};
const DATA_VIEW: Accessors = {
  ...accessors(DataView.prototype),
  touch: slots.getter(DataView.prototype, 'byteLength'),
};

const classByName = new Map(VIEW_CLASSES.map((entry) => [entry.name, entry]));

export function viewBuffer(view: ArrayBufferView): ArrayBufferLike {
  return accessorsOf(view).buffer(view);
}

export function viewByteLength(view: ArrayBufferView): number {
  return accessorsOf(view).byteLength(view);
}

/** Returns the layout of a view; undefined if its buffer was shortened so that the view lies outside of it. */
export function viewLayout(view: ArrayBufferView): ViewLayout | undefined {
  const viewClass = classByName.get(slots.viewClassName(view) ?? 'DataView')!;
  const read = accessorsOf(view);
  const resizable = slots.bufferResizable(read.buffer(view)) === true;
  if (resizable && isOutside(view, read)) return undefined;
  return {
    tag: viewClass.tag,
    byteOffset: read.byteOffset(view),
    byteLength: read.byteLength(view),
    lengthTracking: resizable && followsEnd(view, viewClass, read),
    resizable,
  };
}

/** Makes a view whose length follows that of its resizable buffer. @throws RangeError if `offset` is wrong */
export function createTrackingView(
  { create, elementBytes }: ViewClass,
  buffer: ArrayBuffer,
  offset: number,
): ArrayBufferView {
  const size = buffer.byteLength;
  // V8 refuses to make such a view while the buffer ends within an element, although a resize can lead to that state.
  const part = Math.max(0, size - offset) % elementBytes;
  if (part === 0) return create(buffer, offset);
  const saved = new Uint8Array(buffer).slice(size - part);
  buffer.resize(size - part);
  const view = create(buffer, offset);
  buffer.resize(size);
  new Uint8Array(buffer).set(saved, size - part);
  return view;
}

function followsEnd(view: ArrayBufferView, { elementBytes }: ViewClass, read: Accessors): boolean {
  const buffer = read.buffer(view) as ArrayBuffer;
  const size = buffer.byteLength;
  const length = read.byteLength(view);
  const end = read.byteOffset(view) + length;
  if (size - end >= elementBytes) return false;
  const saved = new Uint8Array(buffer).slice(Math.max(0, end - 1));
  try {
    if (length > 0) {
      buffer.resize(end - 1);
      return !isOutside(view, read);
    }
    // If no element can ever fit, both kinds of view behave alike.
    if (end + elementBytes > buffer.maxByteLength) return false;
    buffer.resize(end + elementBytes);
    return read.byteLength(view) > 0;
  } catch {
    // Memory of WebAssembly cannot be shortened. Such a view is stored with its current length.
    return false;
  } finally {
    if (buffer.byteLength !== size) {
      buffer.resize(size);
      new Uint8Array(buffer).set(saved, size - saved.length);
    }
  }
}

function isOutside(view: ArrayBufferView, read: Accessors): boolean {
  try {
    read.touch(view);
    return false;
  } catch {
    return true;
  }
}

function accessorsOf(view: ArrayBufferView): Accessors {
  return slots.viewClassName(view) === undefined ? DATA_VIEW : TYPED_ARRAY;
}

function accessors(prototype: object): Omit<Accessors, 'touch'> {
  return {
    buffer: slots.getter(prototype, 'buffer'),
    byteOffset: slots.getter(prototype, 'byteOffset'),
    byteLength: slots.getter(prototype, 'byteLength'),
  };
}
