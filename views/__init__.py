"""The pages and what they share. Only this package and dashboard.py know Streamlit."""
