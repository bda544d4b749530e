-- Books of an author
--> statement-breakpoint
CREATE TABLE `book` (
	`id` integer PRIMARY KEY NOT NULL,
	`author` integer REFERENCES `author`(`id`) ON DELETE CASCADE,
	`name` text NOT NULL
);
