// The server's side of following on this package's own host.

import { describe } from 'vitest';
import { testFollowers } from './followers.suite.ts';
import { roomsInNode } from './rooms.ts';

describe('followers here', () => testFollowers(roomsInNode));
