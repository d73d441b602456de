"""The letterbox: jobs that workers claim. It knows ids and stages, never documents."""
